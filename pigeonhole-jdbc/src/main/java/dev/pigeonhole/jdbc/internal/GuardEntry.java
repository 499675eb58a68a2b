package dev.pigeonhole.jdbc.internal;

import dev.pigeonhole.OnConflict;
import dev.pigeonhole.admin.DeliveryState;
import dev.pigeonhole.store.Guards.Answer;
import dev.pigeonhole.store.Guards.Request;
import dev.pigeonhole.store.Guards.Verdict;
import dev.pigeonhole.store.HandlerId;
import dev.pigeonhole.store.NewMessage;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The first steps of a guarded run: who may run, and who is told what.
 *
 * <p><b>New.</b> The unique key of {@code message} decides; the receipt stands in the same
 * transaction, before anything is run.
 *
 * <p><b>Known.</b> The message is held against retention and against repeats that would add a
 * delivery, which look at it under a lock of their own; other guards may hold it too. Then whatever
 * stands for (message, handler) is looked at. An open row is taken <em>before</em> the receipt is
 * inserted, in the order of a settle: so a transactional handler that is at work on it is waited
 * for, and never waits for us. The insert of the receipt decides between guards. After it, in a new
 * statement, nothing else may stand there: an operator or a settle may have moved a row behind our
 * back, and then all of it begins again.
 */
final class GuardEntry {

  // Index: message_identity.
  private static final String FIND =
      """
      SELECT seq, lane, content_hash, received_at, touched FROM {message}
      WHERE source = ? AND id = ?
      """;

  // Indexes: receipt_pk, poison_pk, later_pk, delivery_pk.
  private static final String STANDING =
      """
      SELECT 'receipt', outcome, token, completed_at,
             CASE WHEN request_hash <> ? THEN 1 ELSE 0 END
      FROM {receipt} WHERE seq = ? AND handler IN (:kin)
      UNION ALL
      SELECT 'poison', 0, 0, poisoned_at, 0 FROM {poison} WHERE seq = ? AND handler IN (:kin)
      UNION ALL
      SELECT CASE WHEN due_at IS NULL AND place = 0 THEN 'blocked' ELSE 'open' END, 0, 0,
             CAST(NULL AS :time), 0
      FROM {later} WHERE seq = ? AND handler IN (:kin)
      UNION ALL
      SELECT 'open', 0, 0, CAST(NULL AS :time), 0 FROM {delivery}
      WHERE lane = ? AND handler IN (:kin) AND seq = ?
      """;

  // Index: receipt_pk.
  private static final String RECEIPT =
      """
      SELECT 'receipt', outcome, token, completed_at,
             CASE WHEN request_hash <> ? THEN 1 ELSE 0 END
      FROM {receipt} WHERE seq = ? AND handler IN (:kin)
      """;

  // Index: delivery_pk.
  private static final String TAKE_FRESH =
      "DELETE FROM {delivery} WHERE lane = ? AND handler IN (:kin) AND seq = ?";

  // Index: later_pk. What waits for an operator stays.
  private static final String TAKE_LATE =
      """
      DELETE FROM {later}
      WHERE seq = ? AND handler IN (:kin) AND (due_at IS NOT NULL OR place > 0)
      """;

  // Index: unhandled_pk.
  private static final String NOBODYS = "SELECT 1 FROM {unhandled} WHERE seq = ?";
  private static final String TAKEN = "DELETE FROM {unhandled} WHERE seq = ?";

  // Index: answer_pk.
  private static final String ANSWER =
      """
      SELECT content, content_type FROM {answer}
      WHERE seq = ? AND handler IN (:kin) AND (keep_until IS NULL OR keep_until > {now})
      """;

  private static final int MOST_VANISHINGS = 50;

  /**
   * How it begins.
   *
   * @param seq the message's number, for whoever may run
   * @param handler the number that the receipt stands under
   * @param verdict null for whoever may run
   */
  record Entered(long seq, int handler, @Nullable Verdict verdict) {

    static Entered told(Verdict verdict) {
      return new Entered(0, 0, verdict);
    }
  }

  private record Found(long seq, int lane, byte[] contentHash, Instant receivedAt, int touched) {}

  /**
   * What stands for (message, handler).
   *
   * @param differs whether it is the receipt of another request
   */
  private record Standing(
      String what, int outcome, long token, @Nullable Instant at, boolean differs) {}

  private final Statements statements;
  private final GuardSql sql;
  private final Families families;

  GuardEntry(Statements statements, GuardSql sql, Families families) {
    this.statements = statements;
    this.sql = sql;
    this.families = families;
  }

  /**
   * @param token tells our receipt from that of others, after a commit in doubt
   * @param joined whether the transaction belongs to a caller, and may see an old snapshot
   */
  Entered enter(Session session, Request request, long token, boolean joined) throws SQLException {
    long end = System.nanoTime() + request.waitAtMost().toNanos();
    NewMessage message = request.message();
    int family = request.handler().family();
    // Where several numbers count as one handler, the key of the receipt does not decide between
    // them: two that write under different ones must not be here at the same time.
    String lock = families.kin(family).size() > 1 ? "FOR UPDATE" : sql.share();
    for (int round = 0; round < MOST_VANISHINGS; round++) {
      Optional<Long> fresh = sql.enterNew(session, left(end), request, token);
      if (fresh.isPresent()) {
        return new Entered(fresh.get(), family, null);
      }
      Optional<Found> found = find(session, left(end), message, lock);
      if (found.isPresent()) {
        return joined && !seen(session, message, found.get())
            ? Entered.told(behindTheSnapshot(session, request, found.get()))
            : enterKnown(session, request, found.get(), token, end);
      }
      // It was there for the insert and is gone: it was pruned, so it is new again.
    }
    throw again("Message rows keep vanishing");
  }

  private Entered enterKnown(Session session, Request request, Found found, long token, long end)
      throws SQLException {
    HandlerId handler = request.handler();
    NewMessage message = request.message();
    if (message.onConflict() != OnConflict.REPEAT
        && !NewMessage.sameContent(found.contentHash(), message.contentHash())) {
      return Entered.told(new Verdict.Differs());
    }
    List<Standing> standing = standing(session, request, found);
    Optional<Verdict> known = verdict(session, handler, found, standing, token);
    if (known.isPresent()) {
      return Entered.told(known.get());
    }
    GuardCounts counts =
        standing.isEmpty() ? GuardCounts.NONE : take(session, handler, found, left(end));
    boolean ours =
        sql.insertUnlessThere(
            session,
            left(end),
            GuardSql.INSERT_RECEIPT + GuardSql.ROW,
            GuardSql.receipt(found.seq(), request, counts, token));
    List<Standing> after = standing(session, request, found);
    if (!ours) {
      Optional<Verdict> theirs = verdict(session, handler, found, after, token);
      return Entered.told(
          theirs.isPresent() ? theirs.get() : behindTheSnapshot(session, request, found));
    }
    after.removeIf(each -> each.what().equals("receipt") && each.token() == token);
    if (!after.isEmpty()) {
      throw again("A delivery was moved meanwhile");
    }
    // To delete what is not there would lock out others who store what nobody handles.
    if (session.one(NOBODYS, params -> params.add(found.seq()), row -> true).isPresent()) {
      session.update(TAKEN, params -> params.add(found.seq()));
    }
    return new Entered(found.seq(), handler.family(), null);
  }

  private Optional<Found> find(Session session, int wait, NewMessage message, String share)
      throws SQLException {
    return sql
        .query(
            session,
            wait,
            FIND + share,
            params -> params.add(message.source()).add(message.id()),
            row ->
                new Found(
                    row.getLong(1),
                    row.getInt(2),
                    row.getBytes(3),
                    session.time(row, 4),
                    row.getInt(5)))
        .stream()
        .findFirst();
  }

  /** Whether the caller's snapshot shows the message with all deliveries that were added to it. */
  private boolean seen(Session session, NewMessage message, Found found) throws SQLException {
    return find(session, 1, message, "")
        .filter(seen -> seen.seq() == found.seq() && seen.touched() == found.touched())
        .isPresent();
  }

  /**
   * A receipt that is there now is a repeat, whatever the snapshot shows; whether something else
   * stands there cannot be seen, so the caller has to begin again. PostgreSQL says so by itself.
   */
  private Verdict behindTheSnapshot(Session session, Request request, Found found)
      throws SQLException {
    HandlerId handler = request.handler();
    List<Standing> receipts =
        sql.query(
            session,
            1,
            families.ofKin(session, RECEIPT, handler.family()) + sql.share(),
            params -> params.add(request.asked()).add(found.seq()),
            row -> standing(session, row));
    if (receipts.isEmpty()) {
      throw again("The snapshot of the transaction is older than the message");
    }
    return known(session, handler, found, receipts.get(0), sql.share());
  }

  private List<Standing> standing(Session session, Request request, Found found)
      throws SQLException {
    List<Standing> standing = new ArrayList<>(look(session, request, found));
    if (!statements.seesAllTablesAtOnce()) {
      for (Standing each : look(session, request, found)) { // what moved meanwhile has arrived
        if (!standing.contains(each)) {
          standing.add(each);
        }
      }
    }
    return standing;
  }

  private List<Standing> look(Session session, Request request, Found found) throws SQLException {
    long seq = found.seq();
    String text =
        families
            .ofKin(session, STANDING, request.handler().family())
            .replace(":time", session.dialect.timeType());
    return statements.guarded(
        session,
        text,
        params ->
            params.add(request.asked()).add(seq).add(seq).add(seq).add(found.lane()).add(seq),
        row -> standing(session, row));
  }

  private static Standing standing(Session session, ResultSet row) throws SQLException {
    return new Standing(
        row.getString(1),
        row.getInt(2),
        row.getLong(3),
        session.dialect.read(row, 4),
        row.getInt(5) == 1);
  }

  /** What a caller is told instead of a run; empty where nothing is in the way of one. */
  private Optional<Verdict> verdict(
      Session session, HandlerId handler, Found found, List<Standing> standing, long token)
      throws SQLException {
    for (Standing each : standing) {
      Instant at = each.at() == null ? found.receivedAt() : each.at();
      switch (each.what()) {
        case "receipt" -> {
          if (each.token() == token) {
            return Optional.of(new Verdict.Ran()); // its commit was in doubt, and has been done
          }
          return Optional.of(known(session, handler, found, each, ""));
        }
        case "poison" -> {
          return Optional.of(new Verdict.Known(DeliveryState.POISONED, at, null));
        }
        case "blocked" -> {
          return Optional.of(new Verdict.Known(DeliveryState.BLOCKED, at, null));
        }
        default -> {}
      }
    }
    return Optional.empty();
  }

  private Verdict known(
      Session session, HandlerId handler, Found found, Standing receipt, String share)
      throws SQLException {
    if (receipt.differs()) {
      return new Verdict.Differs();
    }
    DeliveryState state =
        receipt.outcome() == 1 ? DeliveryState.DISCARDED : DeliveryState.COMPLETED;
    Instant at = receipt.at() == null ? found.receivedAt() : receipt.at();
    return new Verdict.Known(
        state, at, answer(session, handler, found.seq(), share).orElse(null));
  }

  private Optional<Answer> answer(Session session, HandlerId handler, long seq, String share)
      throws SQLException {
    return statements
        .guarded(
            session,
            families.ofKin(session, ANSWER, handler.family()) + share,
            params -> params.add(seq),
            row -> new Answer(row.getBytes(1), row.getString(2), null))
        .stream()
        .findFirst();
  }

  /** Removes the open row, wherever it stands now, and waits for whoever is at work on it. */
  private GuardCounts take(Session session, HandlerId handler, Found found, int wait)
      throws SQLException {
    List<GuardCounts> taken =
        new ArrayList<>(
            sql.query(
                session,
                wait,
                deleting(session, TAKE_FRESH, handler),
                params -> params.add(found.lane()).add(found.seq()),
                GuardEntry::counts));
    taken.addAll(
        sql.query(
            session,
            wait,
            deleting(session, TAKE_LATE, handler),
            params -> params.add(found.seq()),
            GuardEntry::counts));
    return taken.isEmpty() ? GuardCounts.NONE : taken.get(0);
  }

  private String deleting(Session session, String delete, HandlerId handler) {
    return sql.deleting(
        families.ofKin(session, delete, handler.family()).stripTrailing(),
        "failures, crashes, releases");
  }

  private static GuardCounts counts(ResultSet row) throws SQLException {
    return new GuardCounts(row.getInt(1), row.getInt(2), row.getInt(3));
  }

  private static int left(long end) {
    long millis = Duration.ofNanos(end - System.nanoTime()).toMillis();
    return (int) Math.max(1, millis);
  }

  /** As the database says it, when all of it has to be done again. */
  private static SQLException again(String why) {
    return new SQLException(why, "40001");
  }
}
