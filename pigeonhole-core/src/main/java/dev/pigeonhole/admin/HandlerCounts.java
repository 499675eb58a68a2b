package dev.pigeonhole.admin;

/**
 * How many deliveries stand where, for one exact handler key; each counted no further than asked
 * for, {@link Count#MOST} as a rule.
 *
 * @param pending those that can be run now
 * @param scheduled those that wait for a time
 * @param paused those that could be run now, of a handler that somebody has paused
 * @param held those whose key no living node knows: they wait for a deployment
 * @param blocked those behind a poisoned delivery of their ordering key
 * @param completed those with a receipt, discarded ones included; among the newest only where there
 *     are very many
 */
public record HandlerCounts(
    String handler,
    Count pending,
    Count scheduled,
    Count paused,
    Count held,
    Count blocked,
    Count completed,
    Count poisoned) {

  private static final Count NONE = Count.of(0);

  /** A handler that has nothing anywhere. */
  public static HandlerCounts none(String handler) {
    return new HandlerCounts(handler, NONE, NONE, NONE, NONE, NONE, NONE, NONE);
  }

  /** Everything that is neither completed nor poisoned. */
  public Count open() {
    return pending.plus(scheduled).plus(paused).plus(held).plus(blocked);
  }

  /** The same, of a handler whose key no living node knows. */
  public HandlerCounts allHeld() {
    return new HandlerCounts(
        handler,
        NONE,
        NONE,
        NONE,
        pending.plus(scheduled).plus(paused).plus(held),
        blocked,
        completed,
        poisoned);
  }

  /** The same, of a handler that somebody has paused. */
  public HandlerCounts allPaused() {
    return new HandlerCounts(
        handler, NONE, scheduled, pending.plus(paused), held, blocked, completed, poisoned);
  }
}
