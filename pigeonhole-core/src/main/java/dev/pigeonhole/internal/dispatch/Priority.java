package dev.pigeonhole.internal.dispatch;

import dev.pigeonhole.store.Delivery;
import dev.pigeonhole.store.StoredMessage;
import java.time.Instant;
import java.util.concurrent.TimeUnit;

/**
 * How priority and age make one number, the <em>place</em>: the time since when something waits,
 * less an hour for each step of priority, in microseconds. Whoever has the lowest place is next. So
 * age makes up for priority by itself, and nobody waits for ever.
 */
final class Priority {
  static final int LOWEST = 0;
  static final int NORMAL = 4;
  static final int HIGHEST = 9;

  private static final long STEP = TimeUnit.HOURS.toMicros(1);

  private Priority() {}

  /** At least one, whatever the clock says: zero stands for no place, and nobody reads below. */
  static long place(int priority, Instant since) {
    long micros = since.getEpochSecond() * 1_000_000 + since.getNano() / 1_000;
    return Math.max(1, micros - priority * STEP);
  }

  /** The place of what has no priority of its own. */
  static long normal(Instant since) {
    return place(NORMAL, since);
  }

  /**
   * Where a row stands among those of its handler. What waited for a time waits for its turn since
   * then, not since it was received.
   *
   * @param normal the place of what comes in without a priority now
   */
  static long place(Delivery row, StoredMessage message, long normal) {
    if (row.place() != 0) {
      return row.place();
    }
    return row.late() ? normal : normal(message.receivedAt());
  }
}
