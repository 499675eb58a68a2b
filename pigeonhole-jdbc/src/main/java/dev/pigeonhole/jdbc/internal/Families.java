package dev.pigeonhole.jdbc.internal;

import dev.pigeonhole.store.HandlerId;
import dev.pigeonhole.store.NewMessage;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/**
 * Families that were registered apart and declared one later: they keep their numbers, and the gate
 * treats them as one. Nearly always every family stands alone.
 */
final class Families {

  /** Replaced as a whole, read without a lock. */
  private volatile Map<Integer, Set<Integer>> kin = Map.of();

  /**
   * Learns from the table of handlers.
   *
   * @param kinOfFamily family → the number that its kin share
   */
  void learn(Map<Integer, Integer> kinOfFamily) {
    Map<Integer, Set<Integer>> byKin = new HashMap<>();
    kinOfFamily.forEach(
        (family, shared) -> byKin.computeIfAbsent(shared, any -> new TreeSet<>()).add(family));
    Map<Integer, Set<Integer>> found = new HashMap<>();
    kinOfFamily.forEach(
        (family, shared) -> found.put(family, byKin.getOrDefault(shared, Set.of())));
    kin = Map.copyOf(found);
  }

  /** All families that count as this one, itself included. */
  Set<Integer> kin(int family) {
    return kin.getOrDefault(family, Set.of(family));
  }

  /** The statement with {@code :kin} as all families that count as this one. */
  String ofKin(Session session, String template, int family) {
    return session.sql(template).replace(":kin", Lists.numbers(kin(family)));
  }

  /** The one number that stands for all of them. */
  int head(int family) {
    return kin(family).iterator().next();
  }

  /** The message with each family at most once. */
  NewMessage distinct(NewMessage message) {
    Set<Integer> seen = new HashSet<>();
    List<HandlerId> handlers = new ArrayList<>();
    for (HandlerId each : message.handlers()) {
      if (seen.add(head(each.family()))) {
        handlers.add(each);
      }
    }
    return handlers.size() == message.handlers().size() ? message : message.to(handlers);
  }
}
