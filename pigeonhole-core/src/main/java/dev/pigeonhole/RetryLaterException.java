package dev.pigeonhole;

import java.time.Duration;

/** Thrown by a handler: not now, but after this time, a year at most. */
public final class RetryLaterException extends InboxException {
  private static final long serialVersionUID = 1L;

  private static final Duration LONGEST = Duration.ofDays(365);

  private final Duration delay;
  private final boolean counted;

  private RetryLaterException(Duration delay, boolean counted) {
    super(ErrorCode.HANDLER_LATER, "The handler asked for another attempt after " + delay + ".");
    this.delay =
        delay.isNegative() ? Duration.ZERO : delay.compareTo(LONGEST) > 0 ? LONGEST : delay;
    this.counted = counted;
  }

  /** Counts as a failure, but waits this long instead of the policy's backoff. */
  public static RetryLaterException after(Duration delay) {
    return new RetryLaterException(delay, true);
  }

  /** Burns no attempt: the world is not ready, nothing went wrong. */
  public static RetryLaterException uncounted(Duration delay) {
    return new RetryLaterException(delay, false);
  }

  /** How long to wait: what was asked for, but not less than nothing nor more than a year. */
  public Duration delay() {
    return delay;
  }

  /** Whether the attempt counts as a failure. */
  public boolean counted() {
    return counted;
  }
}
