package dev.pigeonhole.admin;

/**
 * How many deliveries of one type of message stand where, of all handlers together. What is
 * completed is not among them.
 *
 * @param pending those that can be run now, as soon as a node that knows their handler does
 * @param scheduled those that wait for a time
 * @param blocked those behind a poisoned delivery of their ordering key
 */
public record TypeCounts(
    String type, Count pending, Count scheduled, Count blocked, Count poisoned) {

  /** Everything that is neither completed nor poisoned. */
  public Count open() {
    return pending.plus(scheduled).plus(blocked);
  }
}
