package dev.pigeonhole.admin;

/**
 * How many deliveries stand where, for one exact handler key.
 *
 * @param pending those that can be run now
 * @param scheduled those that wait for a time
 * @param held those whose key no living node knows: they wait for a deployment
 * @param blocked those behind a poisoned delivery of their ordering key
 * @param completed those with a receipt, discarded ones included
 */
public record HandlerCounts(
    String handler,
    long pending,
    long scheduled,
    long held,
    long blocked,
    long completed,
    long poisoned) {

  /** Everything that is neither completed nor poisoned. */
  public long open() {
    return pending + scheduled + held + blocked;
  }
}
