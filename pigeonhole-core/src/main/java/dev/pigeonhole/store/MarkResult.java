package dev.pigeonhole.store;

import java.util.Set;

/**
 * The result of a list of marks. The rows of deliveries in neither set are marked.
 *
 * @param gone deliveries whose row is gone or has another version
 * @param locked deliveries whose row another transaction holds now; they may be open still
 */
public record MarkResult(Set<Delivery> gone, Set<Delivery> locked) {

  private static final MarkResult ALL_MARKED = new MarkResult(Set.of(), Set.of());

  /** Copies both sets. */
  public MarkResult {
    gone = Set.copyOf(gone);
    locked = Set.copyOf(locked);
  }

  /** Every row is marked. */
  public static MarkResult allMarked() {
    return ALL_MARKED;
  }

  /** Whether every row is marked. */
  public boolean complete() {
    return gone.isEmpty() && locked.isEmpty();
  }
}
