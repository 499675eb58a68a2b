package dev.pigeonhole.benchmarks.pigeonhole;

import dev.pigeonhole.benchmarks.inbox.Messages;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.HdrHistogram.ConcurrentHistogram;
import org.HdrHistogram.Histogram;

/**
 * From accepting a message to the start of its handler, free of coordinated omission in both ways
 * that there are. The first counts from when a message should have been sent: one that had to wait
 * for its sender has waited. The second counts from when it was sent, and lets the histogram add
 * the messages that would have been sent during a long wait. Both at once would add them twice.
 *
 * <p>{@link System#nanoTime} is one clock for all processes of a Linux machine, so the sender may
 * be another one.
 */
final class Latencies {

  private static final int DIGITS = 3;
  private static final double NANOS_PER_MILLI = TimeUnit.MILLISECONDS.toNanos(1);

  private final Histogram sinceIntended = new ConcurrentHistogram(DIGITS);
  private final Histogram sinceSent = new ConcurrentHistogram(DIGITS);
  private final long interval;

  /**
   * @param interval the time between two messages, in nanoseconds
   */
  Latencies(long interval) {
    this.interval = interval;
  }

  /** Called by a handler before anything else. */
  void record(byte[] payload) {
    long now = System.nanoTime();
    sinceIntended.recordValue(Math.max(0, now - Messages.intended(payload)));
    sinceSent.recordValueWithExpectedInterval(Math.max(0, now - Messages.sent(payload)), interval);
  }

  /** Percentiles in milliseconds, by name. */
  Map<String, String> percentiles() {
    Map<String, String> percentiles = new LinkedHashMap<>();
    put(percentiles, "", sinceIntended);
    put(percentiles, "sent", sinceSent);
    return percentiles;
  }

  private static void put(Map<String, String> percentiles, String prefix, Histogram histogram) {
    percentiles.put(prefix + "p50", millis(histogram, 50));
    percentiles.put(prefix + "p99", millis(histogram, 99));
    percentiles.put(prefix + "p999", millis(histogram, 99.9));
    percentiles.put(prefix + "max", millis(histogram, 100));
  }

  private static String millis(Histogram histogram, double percentile) {
    double millis = histogram.getValueAtPercentile(percentile) / NANOS_PER_MILLI;
    return String.format(Locale.ROOT, "%.3f", millis);
  }
}
