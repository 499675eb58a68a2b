package dev.pigeonhole;

import java.time.Duration;

/** Thrown by a handler: not now, but after this time. */
public final class RetryLaterException extends InboxException {
  private static final long serialVersionUID = 1L;

  private final Duration delay;
  private final boolean counted;

  private RetryLaterException(Duration delay, boolean counted) {
    super(ErrorCode.HANDLER_LATER, "The handler asked for another attempt after " + delay + ".");
    this.delay = delay;
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

  /** How long to wait. */
  public Duration delay() {
    return delay;
  }

  /** Whether the attempt counts as a failure. */
  public boolean counted() {
    return counted;
  }
}
