package dev.pigeonhole.store;

/**
 * The versions of deliveries. The upper half of a version belongs to the message: it is taken from
 * the random token of the call that stored it. The lower half counts the attempts.
 *
 * <p>A database that has forgotten messages gives their numbers to other messages: after a failover
 * to a standby that lags behind, or with a restored backup. An attempt of the forgotten message
 * must not affect the message that has its number now.
 */
public final class Versions {
  private static final int COUNTED = 32;

  private Versions() {}

  /** The version of a new delivery of the message that was stored with this token. */
  public static long first(long token) {
    return token >>> (COUNTED + 1) << COUNTED; // without the sign, so that versions are positive
  }

  /** Whether both are versions of deliveries of the same message. */
  public static boolean ofOneMessage(long one, long other) {
    return (one ^ other) >>> COUNTED == 0;
  }
}
