package dev.pigeonhole.admin;

/**
 * How many deliveries stand where, for one exact handler key.
 *
 * @param pending fresh ones
 * @param scheduled those that wait for a time
 * @param blocked those behind a poisoned delivery of their ordering key
 */
public record HandlerCounts(
    String handler, long pending, long scheduled, long blocked, long completed, long poisoned) {

  /** Everything that is neither completed nor poisoned. */
  public long open() {
    return pending + scheduled + blocked;
  }
}
