package dev.pigeonhole.kafka;

import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.function.LongSupplier;

/** Keeps the log short: one line a minute for each subject. Safe for many threads. */
final class OncePerMinute {
  private static final long STRETCH = Duration.ofMinutes(1).toNanos();

  private record Last(long at, int leftOut) {}

  private final LongSupplier nanos;
  private final Map<String, Last> last = new HashMap<>(); // guarded by this

  OncePerMinute(LongSupplier nanos) {
    this.nanos = nanos;
  }

  /** How many lines were left out before this one, or -1 if this one is to be left out, too. */
  synchronized int leftOutBefore(String subject) {
    long now = nanos.getAsLong();
    Last before = last.get(subject);
    if (before != null && now - before.at < STRETCH) {
      last.put(subject, new Last(before.at, before.leftOut + 1));
      return -1;
    }
    last.put(subject, new Last(now, 0));
    return before == null ? 0 : before.leftOut;
  }

  /** The next line about it is written at once. */
  synchronized void forget(String subject) {
    last.remove(subject);
  }
}
