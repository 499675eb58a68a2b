package dev.pigeonhole.examples.demo;

import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * What the source has given up, because its handlers run inline and some of them failed as often as
 * a broker delivers: the orders, by the key of the handler.
 */
final class DeadLetters {

  private final Map<String, BitSet> orders = new HashMap<>();

  void add(int order, List<String> handlers) {
    handlers.forEach(key -> orders.computeIfAbsent(key, k -> new BitSet()).set(order));
  }

  /** The orders that this handler will not get any more. */
  BitSet of(String handler) {
    return orders.getOrDefault(handler, new BitSet());
  }

  long size() {
    return orders.values().stream().mapToLong(BitSet::cardinality).sum();
  }

  DeadLetters copy() {
    DeadLetters copy = new DeadLetters();
    orders.forEach((key, set) -> copy.orders.put(key, (BitSet) set.clone()));
    return copy;
  }
}
