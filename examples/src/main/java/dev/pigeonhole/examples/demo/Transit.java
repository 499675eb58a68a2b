package dev.pigeonhole.examples.demo;

/**
 * What came of the way through an outbox and a broker.
 *
 * @param placed orders in the shop's own table
 * @param published messages that were staged and committed
 * @param confirmed messages for which a relay has a receipt
 * @param kills relays that were killed
 */
record Transit(long placed, long published, long confirmed, int kills) {

  /** There is no transport. */
  static final Transit NONE = new Transit(0, 0, 0, 0);
}
