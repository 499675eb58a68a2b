package dev.pigeonhole.store;

/**
 * The versions of deliveries. The upper half of a version belongs to the message: it is taken from
 * the random token of the call that stored it. The lower half counts the attempts. Each time the
 * message is replayed to a handler, a new life begins, 1,048,576 versions higher.
 *
 * <p>A database that has forgotten messages gives their numbers to other messages: after a failover
 * to a standby that lags behind, or with a restored backup. An attempt of the forgotten message
 * must not affect the message that has its number now.
 */
public final class Versions {
  /** Replays and deliveries that were added to a message, together: more lives have no version. */
  public static final int MOST_LIVES = 4_095;

  private static final int COUNTED = 32;
  private static final long COUNT = (1L << COUNTED) - 1;
  private static final int VERSIONS_PER_LIFE = 1 << 20;

  private Versions() {}

  /** The version of a new delivery of the message that was stored with this token. */
  public static long first(long token) {
    return token >>> (COUNTED + 1) << COUNTED; // without the sign, so that versions are positive
  }

  /**
   * The version with which a life begins. If an earlier life had more than 1,048,576 attempts, the
   * versions that it had after those come again.
   *
   * @param first the version of a new delivery of the message
   * @param life from 1 to {@link #MOST_LIVES}
   */
  public static long ofLife(long first, int life) {
    if (life < 1 || life > MOST_LIVES) {
      throw new IllegalArgumentException("There is no life " + life);
    }
    return first + (long) life * VERSIONS_PER_LIFE;
  }

  /** The version of the attempt after this one. After 4,294,967,296 attempts they start over. */
  public static long next(long version) {
    return (version & ~COUNT) | ((version + 1) & COUNT);
  }

  /** Whether both are versions of deliveries of the same message. */
  public static boolean ofOneMessage(long one, long other) {
    return (one ^ other) >>> COUNTED == 0;
  }
}
