package dev.pigeonhole.jdbc.internal;

import dev.pigeonhole.store.HandlerId;
import dev.pigeonhole.store.NewMessage;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;

/**
 * Families that were registered apart and declared one later: they keep their numbers, and the gate
 * treats them as one. Nearly always every family stands alone.
 *
 * <p>A new version may join two families while this process runs and still treats them as two. Then
 * it could add a delivery, or run a handler, that is there under the other number. So before it
 * does either, it compares the number of joined families, which only grows.
 */
final class Families {

  // A family is the number of its first key. Not many rows.
  static final String JOINED =
      "(SELECT count(*) FROM {handler} h WHERE h.key_id = h.family AND h.kin <> h.family)";

  private static final String READ = "SELECT family, kin FROM {handler}";

  /** Replaced as a whole, read without a lock. */
  private volatile Known known = new Known(Map.of(), 0);

  /**
   * @param kin family → all that count as this one
   * @param joined how many families count as another one
   */
  private record Known(Map<Integer, Set<Integer>> kin, long joined) {}

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
    long joined =
        kinOfFamily.entrySet().stream()
            .filter(each -> !each.getKey().equals(each.getValue()))
            .count();
    known = new Known(Map.copyOf(found), joined);
  }

  /**
   * Reads the families again if some were joined since the last read.
   *
   * @param joined the present result of {@link #JOINED}
   * @return whether the families were read again
   */
  boolean learnIfBehind(Session session, long joined) throws SQLException {
    if (joined <= known.joined()) {
      return false;
    }
    Map<Integer, Integer> kinOfFamily = new HashMap<>();
    session.query(READ, params -> {}, row -> kinOfFamily.put(row.getInt(1), row.getInt(2)));
    learn(kinOfFamily);
    return true;
  }

  /** The same for callers that have not read {@link #JOINED} yet. */
  boolean learnIfBehind(Session session) throws SQLException {
    Optional<Long> joined = session.one("SELECT " + JOINED, params -> {}, row -> row.getLong(1));
    return learnIfBehind(session, joined.orElse(0L));
  }

  /** All families that count as this one, itself included. */
  Set<Integer> kin(int family) {
    return known.kin().getOrDefault(family, Set.of(family));
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
