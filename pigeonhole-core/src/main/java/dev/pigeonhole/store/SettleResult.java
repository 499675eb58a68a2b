package dev.pigeonhole.store;

import java.util.Set;

/**
 * The result of a list of settlements. Those in neither set are recorded.
 *
 * @param refused deliveries whose row is gone or has another version: another transaction has
 *     settled them
 * @param locked deliveries whose row another transaction holds now; nothing was recorded for them
 */
public record SettleResult(Set<Delivery> refused, Set<Delivery> locked) {

  private static final SettleResult ALL_RECORDED = new SettleResult(Set.of(), Set.of());

  /** Copies both sets. */
  public SettleResult {
    refused = Set.copyOf(refused);
    locked = Set.copyOf(locked);
  }

  /** Every settlement is recorded. */
  public static SettleResult allRecorded() {
    return ALL_RECORDED;
  }

  /** Nothing is locked. */
  public static SettleResult refusing(Set<Delivery> refused) {
    return refused.isEmpty() ? ALL_RECORDED : new SettleResult(refused, Set.of());
  }

  /** Whether every settlement is recorded. */
  public boolean complete() {
    return refused.isEmpty() && locked.isEmpty();
  }
}
