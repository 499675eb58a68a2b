package dev.pigeonhole.lease;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.InboxException;

/**
 * Somebody else has taken over: the lease ran out while the body was at work, because its process
 * stood still or could not reach the store. Thrown by {@link Lease#renew()}, and after the body has
 * returned. In both cases the body, or a part of it, may have run twice, and the receipt is not
 * this run's.
 */
public final class LeaseLostException extends InboxException {
  private static final long serialVersionUID = 1L;

  private final String token;

  LeaseLostException(String token, String message) {
    super(ErrorCode.LEASE_LOST, message);
    this.token = token;
  }

  /** The token of the run that was replaced. */
  public String token() {
    return token;
  }
}
