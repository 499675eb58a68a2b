package dev.pigeonhole.benchmarks.pigeonhole;

import dev.pigeonhole.benchmarks.inbox.Messages;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.HdrHistogram.ConcurrentHistogram;
import org.HdrHistogram.Histogram;

/**
 * From accepting a message to the start of its handler, free of coordinated omission: it counts
 * from when a message should have been sent, so one that had to wait for its sender has waited.
 *
 * <p>{@link System#nanoTime} is one clock for all processes of a Linux machine, so the sender may
 * be another one.
 */
final class Latencies {

  private static final int DIGITS = 3;
  private static final double NANOS_PER_MILLI = TimeUnit.MILLISECONDS.toNanos(1);

  private final Histogram waits = new ConcurrentHistogram(DIGITS);

  /** Called by a handler before anything else. */
  void record(byte[] payload) {
    waits.recordValue(Math.max(0, System.nanoTime() - Messages.intended(payload)));
  }

  /** Percentiles in milliseconds, by name. */
  Map<String, String> percentiles() {
    Map<String, String> percentiles = new LinkedHashMap<>();
    percentiles.put("p50", millis(50));
    percentiles.put("p99", millis(99));
    percentiles.put("p999", millis(99.9));
    percentiles.put("max", millis(100));
    return percentiles;
  }

  private String millis(double percentile) {
    double millis = waits.getValueAtPercentile(percentile) / NANOS_PER_MILLI;
    return String.format(Locale.ROOT, "%.3f", millis);
  }
}
