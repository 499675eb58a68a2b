package dev.pigeonhole.internal.rescue;

import static java.util.concurrent.TimeUnit.MILLISECONDS;

import java.time.Duration;
import java.util.function.LongSupplier;

/**
 * When this node sent the last heartbeat that was confirmed. Two clocks measure its age, and the
 * longer one counts. The monotonic clock is never set, but it stands still while the machine is
 * suspended, and meanwhile other nodes may have declared this one dead. After that, the wall clock
 * is right again. If it jumps for another reason, the node waits for its next heartbeat.
 *
 * <p>Written by one thread, read by all.
 */
public final class LastHeartbeat {
  /** A moment by both clocks. */
  record Moment(long nanos, long millis) {}

  private final long limitNanos;
  private final LongSupplier nanos;
  private final LongSupplier millis;
  private volatile Moment sent;

  /**
   * @param limit the age from which on other nodes may have taken this one for dead
   */
  public LastHeartbeat(Duration limit) {
    this(limit, System::nanoTime, System::currentTimeMillis);
  }

  /**
   * @param nanos the monotonic clock
   * @param millis the wall clock
   */
  public LastHeartbeat(Duration limit, LongSupplier nanos, LongSupplier millis) {
    this.limitNanos = limit.toNanos();
    this.nanos = nanos;
    this.millis = millis;
    this.sent = now();
  }

  Moment now() {
    return new Moment(nanos.getAsLong(), millis.getAsLong());
  }

  void sentAt(Moment moment) {
    sent = moment;
  }

  /** By the monotonic clock. */
  long nanos() {
    return sent.nanos();
  }

  boolean isRecent() {
    Moment last = sent;
    return nanos.getAsLong() - last.nanos() < limitNanos
        && MILLISECONDS.toNanos(millis.getAsLong() - last.millis()) < limitNanos;
  }
}
