package dev.pigeonhole.jdbc.internal;

import dev.pigeonhole.Failure;
import dev.pigeonhole.OnPoison;
import dev.pigeonhole.store.Delivery;
import dev.pigeonhole.store.Outcome;
import dev.pigeonhole.store.Settlement;
import dev.pigeonhole.store.Versions;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Ends attempts. Every ending is the same two steps: take the open row away at its version, which
 * only the first to name it can, and put down what it becomes. Both are in one commit, so nobody
 * ever sees a delivery in two places or in none.
 *
 * <p>Counters come from the delivery as it was read: at the same version only marks can have
 * changed since, and an attempt that came back undoes its lone mark.
 */
final class Settling {

  private static final int SLOTS = 10;
  private static final Duration LONGEST_DELAY = Duration.ofDays(36_500);

  // Index: failure_pk.
  private static final String LAST_NUMBERS =
      """
      SELECT seq, handler, max(number) FROM {failure}
      WHERE seq :seqs
      GROUP BY seq, handler
      """;

  private final Statements statements;
  private final KeyGates gates;

  Settling(Statements statements, KeyGates gates) {
    this.statements = statements;
    this.gates = gates;
  }

  /** Takes open rows away; answers which were there. */
  @FunctionalInterface
  private interface Taking {
    Set<Delivery> take(Session session, List<Delivery> deliveries) throws SQLException;
  }

  /** Settles what is still there at its version and answers it. */
  Set<Delivery> settle(Session session, List<Settlement> settlements) throws SQLException {
    return settle(session, settlements, statements::take);
  }

  /** The same for rows that this transaction has locked. */
  void settleLocked(Session session, List<Settlement> settlements) throws SQLException {
    settle(session, settlements, statements::takeLocked);
  }

  private Set<Delivery> settle(Session session, List<Settlement> settlements, Taking taking)
      throws SQLException {
    Map<Delivery, Outcome> outcomes = new LinkedHashMap<>();
    settlements.forEach(each -> outcomes.putIfAbsent(each.delivery(), each.outcome()));
    Set<Delivery> blocked = stillBlocked(session, outcomes);
    Set<Delivery> taken = taking.take(session, List.copyOf(outcomes.keySet()));

    List<Delivery> completed = new ArrayList<>();
    List<Delivery> released = new ArrayList<>();
    List<Waiting> waiting = new ArrayList<>();
    List<Failed> failed = new ArrayList<>();
    List<Failed> poisoned = new ArrayList<>();
    List<Failed> blocking = new ArrayList<>();
    List<Delivery> closing = new ArrayList<>();
    for (Delivery each : taken) {
      Outcome outcome = outcomes.get(each);
      if (outcome instanceof Outcome.Completed) {
        completed.add(each);
      } else if (outcome instanceof Outcome.RetryAfter retry) {
        waiting.add(
            new Waiting(each, each.failures() + 1, 0, each.releases(), retry.delay(), 0, "retry"));
        failed.add(new Failed(each, retry.failure(), each.failures() + 1));
      } else if (outcome instanceof Outcome.LaterUncounted later) {
        waiting.add(Waiting.as(each, later.delay(), "later"));
      } else if (outcome instanceof Outcome.Uncounted later) {
        waiting.add(
            new Waiting(
                each,
                each.failures(),
                each.crashes(),
                each.releases() + 1,
                later.delay(),
                0,
                "later"));
        failed.add(new Failed(each, later.failure(), each.failures()));
      } else if (outcome instanceof Outcome.Blocked) {
        boolean still = blocked.contains(each);
        waiting.add(Waiting.as(each, still ? null : Duration.ZERO, still ? "blocked" : "later"));
      } else if (outcome instanceof Outcome.Poisoned poison) {
        Failed end =
            new Failed(each, poison.failure(), each.failures() + (poison.counted() ? 1 : 0));
        (poison.onPoison() == OnPoison.BLOCK_KEY ? blocking : poisoned).add(end);
        failed.add(end);
        if (poison.onPoison() == OnPoison.HOLD_SEQUENCE) {
          closing.add(each);
        }
      } else if (outcome instanceof Outcome.Released) {
        if (each.late()) {
          waiting.add(
              new Waiting(
                  each,
                  each.failures(),
                  each.crashes(),
                  each.releases() + 1,
                  Duration.ZERO,
                  each.place(),
                  "released"));
        } else {
          released.add(each);
        }
      }
    }
    statements.receipts(session, completed);
    release(session, released);
    wait(session, waiting);
    poison(session, poisoned, false);
    poison(session, blocking, true);
    gates.close(session, closing);
    record(session, failed);
    return taken;
  }

  /**
   * What a row becomes in {@code later}.
   *
   * @param delay null waits for a release
   * @param place 0 for a row whose due time tells
   */
  private record Waiting(
      Delivery delivery,
      int failures,
      int crashes,
      int releases,
      @Nullable Duration delay,
      long place,
      String reason) {

    static Waiting as(Delivery delivery, @Nullable Duration delay, String reason) {
      return new Waiting(
          delivery, delivery.failures(), delivery.crashes(), delivery.releases(), delay, 0, reason);
    }
  }

  /**
   * A failure and the count it led to.
   *
   * @param failures the delivery's failures from now on
   */
  record Failed(Delivery delivery, Failure failure, int failures) {}

  /**
   * What was in the way of a row that is to be blocked may have gone since the engine looked: an
   * operator dealt with it and released everything that stood blocked at that moment. Whoever comes
   * first holds it: then the operator waits and finds our row, or we wait and find nothing in the
   * way, and the row becomes due at once instead of waiting for ever.
   */
  private Set<Delivery> stillBlocked(Session session, Map<Delivery, Outcome> outcomes)
      throws SQLException {
    Set<Delivery> blocked = new LinkedHashSet<>();
    List<Delivery> keyed = new ArrayList<>();
    outcomes.forEach(
        (each, outcome) -> {
          if (outcome instanceof Outcome.Blocked) {
            (each.keyHash() == null ? blocked : keyed).add(each);
          }
        });
    // Each key is asked once, for its highest row: what is found says which of its rows are behind.
    Map<KeyGates.Key, Long> highest = new TreeMap<>(KeyGates.Key.ORDER);
    keyed.forEach(each -> highest.merge(KeyGates.key(each), each.seq(), Math::max));
    Map<KeyGates.Key, Long> heads = new HashMap<>();
    for (Map.Entry<KeyGates.Key, Long> each : highest.entrySet()) {
      gates
          .holdHead(session, each.getKey(), each.getValue())
          .ifPresent(head -> heads.put(each.getKey(), head));
    }
    List<Delivery> others = new ArrayList<>();
    for (Delivery each : keyed) {
      (behind(heads, each) ? blocked : others).add(each);
    }
    Map<KeyGates.Key, Long> closed = new TreeMap<>(KeyGates.Key.ORDER);
    others.forEach(each -> closed.put(KeyGates.key(each), Long.MAX_VALUE));
    for (Map.Entry<KeyGates.Key, Long> each : closed.entrySet()) {
      gates.holdClosed(session, each.getKey()).ifPresent(each::setValue);
    }
    others.stream().filter(each -> behind(closed, each)).forEach(blocked::add);
    return blocked;
  }

  private static boolean behind(Map<KeyGates.Key, Long> numbers, Delivery row) {
    return numbers.getOrDefault(KeyGates.key(row), Long.MAX_VALUE) < row.seq();
  }

  private static void release(Session session, List<Delivery> released) throws SQLException {
    session.insert(
        """
        INSERT INTO {delivery} (lane, handler, seq, version, key_id, failures, crashes, releases, key_hash)
        VALUES\s""",
        "(?, ?, ?, ?, ?, ?, ?, ?, ?)",
        released,
        (params, each) ->
            params
                .add(each.cell().lane())
                .add(each.cell().handler())
                .add(each.seq())
                .add(Versions.next(each.version()))
                .add(each.keyId())
                .add(each.failures())
                .add(each.crashes())
                .add(each.releases() + 1)
                .add(each.keyHash()));
  }

  private static void wait(Session session, List<Waiting> waiting) throws SQLException {
    String insert =
        """
        INSERT INTO {later} (lane, handler, seq, version, key_id, failures, crashes, releases, key_hash,
                             place, reason, due_at)
        VALUES\s""";
    String columns = "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ";
    String due = session.dialect.plusMicros("{now}", "?");
    session.insert(
        insert,
        columns + due + ")",
        waiting.stream().filter(each -> each.delay() != null).toList(),
        (params, each) -> bind(params, each).add(micros(each.delay())));
    session.insert(
        insert,
        columns + "NULL)",
        waiting.stream().filter(each -> each.delay() == null).toList(),
        Settling::bind);
  }

  private static Params bind(Params params, Waiting each) throws SQLException {
    return params
        .add(each.delivery().cell().lane())
        .add(each.delivery().cell().handler())
        .add(each.delivery().seq())
        .add(Versions.next(each.delivery().version()))
        .add(each.delivery().keyId())
        .add(each.failures())
        .add(each.crashes())
        .add(each.releases())
        .add(each.delivery().keyHash())
        .add(each.place())
        .add(each.reason());
  }

  private static long micros(@Nullable Duration delay) {
    Duration bounded = delay == null || delay.isNegative() ? Duration.ZERO : delay;
    if (bounded.compareTo(LONGEST_DELAY) > 0) {
      bounded = LONGEST_DELAY;
    }
    return bounded.toNanos() / 1000;
  }

  /**
   * Puts down poisoned rows.
   *
   * @param blocks whether what follows in their keys, if they have any, has to wait for them
   */
  private static void poison(Session session, List<Failed> poisoned, boolean blocks)
      throws SQLException {
    session.insert(
        """
        INSERT INTO {poison} (lane, handler, seq, version, key_id, failures, crashes, releases, key_hash,
                              blocks, error_code, error_type, error_text, stack, fingerprint, failed_at, poisoned_at)
        VALUES\s""",
        "(?, ?, ?, ?, ?, ?, ?, ?, ?, %s, ?, ?, ?, ?, ?, ?, {now})"
            .formatted(blocks ? "TRUE" : "FALSE"),
        poisoned,
        (params, each) ->
            bind(
                params
                    .add(each.delivery().cell().lane())
                    .add(each.delivery().cell().handler())
                    .add(each.delivery().seq())
                    .add(Versions.next(each.delivery().version()))
                    .add(each.delivery().keyId())
                    .add(each.failures())
                    .add(each.delivery().crashes())
                    .add(each.delivery().releases())
                    .add(each.delivery().keyHash()),
                each.failure()));
  }

  private static Params bind(Params params, Failure failure) throws SQLException {
    return params
        .add(failure.code().text())
        .add(storable(failure.type()))
        .add(storable(failure.message()))
        .add(storable(failure.stack()))
        .add(storable(failure.fingerprint()))
        .add(failure.at());
  }

  /** Failures come escaped; a NUL that slipped through must not make one unsavable. */
  private static String storable(String text) {
    return text.indexOf('\0') < 0 ? text : text.replace("\0", "\\0");
  }

  /** Keeps the newest failures: the n-th stands in slot n mod 10 and replaces the one before. */
  private void record(Session session, List<Failed> failed) throws SQLException {
    if (failed.isEmpty()) {
      return;
    }
    Map<List<Long>, Integer> last = new HashMap<>();
    statements.bySeqs(
        session,
        LAST_NUMBERS,
        failed.stream().map(each -> each.delivery().seq()).toList(),
        row -> last.put(List.of(row.getLong(1), row.getLong(2)), row.getInt(3)));
    record Numbered(Failed failed, int number) {}
    List<Numbered> numbered =
        failed.stream()
            .sorted(Comparator.comparing(Failed::delivery, Named.ORDER))
            .map(
                each -> {
                  Delivery delivery = each.delivery();
                  List<Long> key = List.of(delivery.seq(), (long) delivery.cell().handler());
                  return new Numbered(each, last.getOrDefault(key, 0) + 1);
                })
            .toList();
    session.batch(
        "DELETE FROM {failure} WHERE seq = ? AND handler = ? AND slot = ?",
        numbered.stream().filter(each -> each.number() >= SLOTS).toList(),
        (params, each) ->
            params
                .add(each.failed().delivery().seq())
                .add(each.failed().delivery().cell().handler())
                .add(each.number() % SLOTS));
    session.insert(
        """
        INSERT INTO {failure} (seq, handler, number, slot, error_code, error_type, error_text, stack,
                               fingerprint, failed_at)
        VALUES\s""",
        "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        numbered,
        (params, each) ->
            bind(
                params
                    .add(each.failed().delivery().seq())
                    .add(each.failed().delivery().cell().handler())
                    .add(each.number())
                    .add(each.number() % SLOTS),
                each.failed().failure()));
  }
}
