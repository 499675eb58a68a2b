package dev.pigeonhole;

import java.time.Instant;

/**
 * The first run of a key failed, and its guard keeps such failures: nothing ran now, and nothing
 * runs later. See {@link GuardBuilder#keepFailures}.
 */
public final class KeptFailureException extends InboxException {
  private static final long serialVersionUID = 1L;

  private final String failureType;
  private final String failureMessage;
  private final Instant failedAt;

  /** Names the first failure as it was kept. */
  public KeptFailureException(
      GuardKey key, String failureType, String failureMessage, Instant failedAt) {
    super(
        ErrorCode.GUARD_FAILURE_KEPT,
        "%s has failed at %s, which was kept, so it is not run again: %s%s"
            .formatted(
                key, failedAt, failureType, failureMessage.isEmpty() ? "" : ": " + failureMessage));
    this.failureType = failureType;
    this.failureMessage = failureMessage;
    this.failedAt = failedAt;
  }

  /** The name of the class of the first failure. */
  public String failureType() {
    return failureType;
  }

  /** The message of the first failure, at most 2,000 characters; empty where it had none. */
  public String failureMessage() {
    return failureMessage;
  }

  /** When the first run failed, by the clock of the database. */
  public Instant failedAt() {
    return failedAt;
  }
}
