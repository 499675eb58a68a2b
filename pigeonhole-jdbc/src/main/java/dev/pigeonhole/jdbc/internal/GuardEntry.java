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
 * transaction: before anything is run, or in the end where nothing but us can end a transaction.
 *
 * <p><b>Known.</b> The message is held against retention and against repeats that would add a
 * delivery, which look at it under a lock of their own; other guards may hold it too. Then whatever
 * stands for (message, handler) is looked at. An open row is held <em>before</em> the receipt is
 * inserted, in the order of a settle: so a transactional handler that is at work on it is waited
 * for, and never waits for us. The insert of the receipt decides between guards. After it, in a new
 * statement, nothing else may stand there: an operator or a settle may have moved a row behind our
 * back, and then all of it begins again.
 *
 * <p><b>Accepted by the body.</b> A body may accept its own message, so that other handlers get it
 * in the same commit. Its receipt does not count yet, so a delivery is added for its own handler,
 * too. The row of the message shows that, and the delivery is removed before the receipt is
 * completed.
 *
 * <p><b>Left behind.</b> A receipt that is still running and can be seen is one that was committed
 * before the end of its run, see {@link Receipts}. It is removed, and the run is as any other.
 */
final class GuardEntry {

  // Index: message_identity.
  private static final String FIND =
      """
      SELECT seq, lane, content_hash, type, oldest_type, received_at, touched, %s
      FROM {message} WHERE source = ? AND id = ?
      """
          .formatted(Families.JOINED);

  // Indexes: receipt_pk, poison_pk, later_pk, delivery_pk.
  private static final String STANDING =
      """
      SELECT 'receipt', handler, outcome, token, completed_at,
             CASE WHEN request_hash <> ? THEN 1 ELSE 0 END
      FROM {receipt} WHERE seq = ? AND handler IN (:kin)
      UNION ALL
      SELECT 'poison', handler, 0, 0, poisoned_at, 0
      FROM {poison} WHERE seq = ? AND handler IN (:kin)
      UNION ALL
      SELECT CASE WHEN due_at IS NULL AND place = 0 THEN 'blocked' ELSE 'later' END, handler, 0, 0,
             CAST(NULL AS :time), 0
      FROM {later} WHERE seq = ? AND handler IN (:kin)
      UNION ALL
      SELECT 'delivery', handler, 0, 0, CAST(NULL AS :time), 0 FROM {delivery}
      WHERE lane = ? AND handler IN (:kin) AND seq = ?
      """;

  // Index: receipt_pk.
  private static final String RECEIPT =
      """
      SELECT 'receipt', handler, outcome, token, completed_at,
             CASE WHEN request_hash <> ? THEN 1 ELSE 0 END
      FROM {receipt} WHERE seq = ? AND handler IN (:kin) AND %s
      """
          .formatted(Receipts.COUNTS);

  // Index: receipt_pk. Whoever is about to do the same is waited for.
  private static final String CLEAR =
      "DELETE FROM {receipt} WHERE seq = ? AND handler IN (:kin) AND " + Receipts.IS_RUNNING;

  // Index: delivery_pk.
  private static final String HOLD_FRESH =
      """
      SELECT %s FROM {delivery}
      WHERE lane = ? AND handler IN (:kin) AND seq = ? FOR UPDATE
      """
          .formatted(GuardTaken.COLUMNS);

  // Index: later_pk. What waits for an operator stays.
  private static final String HOLD_LATE =
      """
      SELECT %s FROM {later}
      WHERE seq = ? AND handler IN (:kin) AND (due_at IS NOT NULL OR place > 0) FOR UPDATE
      """
          .formatted(GuardTaken.COLUMNS);

  // Index: delivery_pk.
  private static final String TAKE_FRESH =
      "DELETE FROM {delivery} WHERE lane = ? AND handler = ? AND seq = ?";

  // Index: later_pk.
  private static final String TAKE_LATE = "DELETE FROM {later} WHERE seq = ? AND handler = ?";

  // Index: handler_pk.
  private static final String NAME = "SELECT handler_key FROM {handler} WHERE key_id = ?";

  // Index: message_pk.
  private static final String LANE = "SELECT lane FROM {message} WHERE seq = ?";

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
   * @param first null where its receipt stands there already, as running
   * @param handler by the number and the name that the receipt stands under
   * @param known where the message was found, for whoever may run; null if it is new
   * @param taken what the run takes over
   * @param verdict null for whoever may run
   */
  record Entered(
      long seq,
      GuardSql.@Nullable First first,
      HandlerId handler,
      @Nullable Found known,
      List<GuardTaken> taken,
      @Nullable Verdict verdict) {

    private static final HandlerId NOBODY = new HandlerId("", 0, 0);

    /** How often deliveries had been added to the message. */
    int touched() {
      return known == null ? 0 : known.touched();
    }

    static Entered told(Verdict verdict) {
      return new Entered(0, null, NOBODY, null, List.of(), verdict);
    }

    static Entered asNew(GuardSql.Fresh fresh, HandlerId handler) {
      return new Entered(fresh.seq(), fresh.first(), handler, null, List.of(), null);
    }
  }

  /**
   * Who comes.
   *
   * @param token tells our receipt from that of others, after a commit in doubt
   * @param doubt whether an earlier try of the same may have been committed
   * @param joined whether the transaction belongs to a caller, and may see an old snapshot
   */
  record Comer(long token, boolean doubt, boolean joined) {}

  /**
   * @param joined see {@link Families#JOINED}
   */
  record Found(
      long seq,
      int lane,
      byte[] contentHash,
      String type,
      @Nullable String oldestType,
      Instant receivedAt,
      int touched,
      long joined) {

    boolean hasCopy(NewMessage message) {
      return message.isCopyOf(contentHash, type, oldestType);
    }
  }

  /**
   * What stands for (message, handler).
   *
   * @param differs whether it is the receipt of another request
   */
  private record Standing(
      String what, int handler, int outcome, long token, @Nullable Instant at, boolean differs) {

    boolean isOpen() {
      return what.equals("delivery") || what.equals("later");
    }

    boolean isReceipt() {
      return what.equals("receipt");
    }

    boolean isRunning() {
      return isReceipt() && outcome == Receipts.RUNNING;
    }

    boolean is(GuardTaken taken) {
      return what.equals(taken.late() ? "later" : "delivery") && handler == taken.handler();
    }
  }

  private final Statements statements;
  private final GuardSql sql;
  private final Families families;

  GuardEntry(Statements statements, GuardSql sql, Families families) {
    this.statements = statements;
    this.sql = sql;
    this.families = families;
  }

  Entered enter(Session session, Request request, Comer comer) throws SQLException {
    long end = System.nanoTime() + request.waitAtMost().toNanos();
    NewMessage message = request.message();
    int family = request.handler().family();
    for (int round = 0; round < MOST_VANISHINGS; round++) {
      // Where several numbers count as one handler, the key of the receipt does not decide between
      // them: two that write under different ones must not be here at the same time.
      boolean alone = families.kin(family).size() > 1;
      String lock = alone ? "FOR UPDATE" : sql.share();
      Optional<GuardSql.Fresh> fresh =
          sql.enterNew(session, left(end), request, comer.token(), alone);
      if (fresh.isPresent()) {
        return Entered.asNew(fresh.get(), request.handler());
      }
      Optional<Found> found = find(session, left(end), message, lock);
      if (found.isPresent() && families.learnIfBehind(session, found.get().joined())) {
        continue; // now it may be one that wants to be alone
      }
      if (found.isPresent()) {
        return comer.joined() && !seen(session, message, found.get())
            ? Entered.told(behindTheSnapshot(session, request, found.get()))
            : enterKnown(session, request, found.get(), comer, end);
      }
      // It was there for the insert and is gone: it was pruned, so it is new again.
    }
    throw again("Message rows keep vanishing");
  }

  private Entered enterKnown(Session session, Request request, Found found, Comer comer, long end)
      throws SQLException {
    HandlerId handler = request.handler();
    NewMessage message = request.message();
    if (message.onConflict() != OnConflict.REPEAT && !found.hasCopy(message)) {
      return Entered.told(new Verdict.Differs());
    }
    List<Standing> standing = standing(session, request, found);
    Optional<Verdict> known = verdict(session, handler, found, standing, comer);
    if (known.isPresent()) {
      return Entered.told(known.get());
    }
    List<GuardTaken> taken =
        standing.stream().anyMatch(Standing::isOpen)
            ? hold(session, handler, found.lane(), found.seq(), end)
            : List.of();
    if (standing.stream().anyMatch(Standing::isRunning)) {
      String clear = families.ofKin(session, CLEAR, handler.family());
      sql.query(session, left(end), clear, params -> params.add(found.seq()), row -> true);
    }
    // Under the number of what is taken over, where those look who know no other.
    GuardTaken first = taken.isEmpty() ? GuardTaken.none(handler) : taken.get(0);
    boolean ours =
        sql.insertUnlessThere(
            session,
            left(end),
            GuardSql.INSERT_RECEIPT + GuardSql.ROW,
            GuardSql.receipt(found.seq(), request, first, comer.token()));
    List<Standing> after = standing(session, request, found);
    if (!ours) {
      Optional<Verdict> theirs = verdict(session, handler, found, after, comer);
      return Entered.told(
          theirs.isPresent() ? theirs.get() : behindTheSnapshot(session, request, found));
    }
    after.removeIf(each -> each.isReceipt() && each.token() == comer.token());
    after.removeIf(each -> taken.stream().anyMatch(each::is));
    if (!after.isEmpty()) {
      throw again("A delivery was moved meanwhile");
    }
    return new Entered(found.seq(), null, named(session, handler, first), found, taken, null);
  }

  /** A delivery may have been stored, and tried, under a former name. */
  private static HandlerId named(Session session, HandlerId handler, GuardTaken taken)
      throws SQLException {
    String key = handler.key();
    if (taken.keyId() != handler.keyId()) {
      key =
          session
              .one(NAME, params -> params.add(taken.keyId()), row -> row.getString(1))
              .orElse(key);
    }
    return new HandlerId(key, taken.keyId(), taken.handler());
  }

  /**
   * Removes in the end what the run has taken over.
   *
   * @return whether all of it was still there
   */
  boolean take(Session session, Entered entered) throws SQLException {
    Found known = entered.known();
    if (known == null) {
      return true;
    }
    // To delete what is not there would lock out others who store what nobody handles.
    if (session.one(NOBODYS, params -> params.add(known.seq()), row -> true).isPresent()) {
      sql.query(
          session,
          Session.LockWait.NORMAL.millis,
          TAKEN,
          params -> params.add(known.seq()),
          row -> true);
    }
    boolean there = true;
    for (GuardTaken each : entered.taken()) {
      there &= remove(session, known.lane(), known.seq(), each) == 1;
    }
    return there;
  }

  /**
   * Removes what the run's own transaction has added for its handler. Nothing else can stand there:
   * what did was taken over, and no other run may add to the message meanwhile.
   */
  void withdraw(Session session, Entered entered) throws SQLException {
    long seq = entered.seq();
    long end = System.nanoTime() + Duration.ofMillis(Session.LockWait.NORMAL.millis).toNanos();
    List<Integer> lanes =
        statements.guarded(session, LANE, params -> params.add(seq), row -> row.getInt(1));
    for (int lane : lanes) {
      for (GuardTaken each : hold(session, entered.handler(), lane, seq, end)) {
        remove(session, lane, seq, each);
      }
    }
  }

  private int remove(Session session, int lane, long seq, GuardTaken row) throws SQLException {
    return row.late()
        ? sql.update(session, TAKE_LATE, params -> params.add(seq).add(row.handler()))
        : sql.update(session, TAKE_FRESH, params -> params.add(lane).add(row.handler()).add(seq));
  }

  private Optional<Found> find(Session session, int wait, NewMessage message, String lock)
      throws SQLException {
    return sql
        .query(
            session,
            wait,
            FIND + lock,
            params -> params.add(message.source()).add(message.id()),
            row ->
                new Found(
                    row.getLong(1),
                    row.getInt(2),
                    row.getBytes(3),
                    row.getString(4),
                    row.getString(5),
                    session.time(row, 6),
                    row.getInt(7),
                    row.getLong(8)))
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
        params -> params.add(request.asked()).add(seq).add(seq).add(seq).add(found.lane()).add(seq),
        row -> standing(session, row));
  }

  private static Standing standing(Session session, ResultSet row) throws SQLException {
    return new Standing(
        row.getString(1),
        row.getInt(2),
        row.getInt(3),
        row.getLong(4),
        session.dialect.read(row, 5),
        row.getInt(6) == 1);
  }

  /** What a caller is told instead of a run; empty where nothing is in the way of one. */
  private Optional<Verdict> verdict(
      Session session, HandlerId handler, Found found, List<Standing> standing, Comer comer)
      throws SQLException {
    for (Standing each : standing) {
      Instant at = each.at() == null ? found.receivedAt() : each.at();
      switch (each.what()) {
        case "receipt" -> {
          if (each.isRunning()) {
            continue; // it proves nothing
          }
          if (comer.doubt() && each.token() == comer.token()) {
            return Optional.of(new Verdict.Ran());
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
        receipt.outcome() == Receipts.DISCARDED ? DeliveryState.DISCARDED : DeliveryState.COMPLETED;
    Instant at = receipt.at() == null ? found.receivedAt() : receipt.at();
    return new Verdict.Known(state, at, answer(session, handler, found.seq(), share).orElse(null));
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

  /** Holds the open row, wherever it stands now, and waits for whoever is at work on it. */
  private List<GuardTaken> hold(Session session, HandlerId handler, int lane, long seq, long end)
      throws SQLException {
    List<GuardTaken> held =
        new ArrayList<>(
            sql.query(
                session,
                left(end),
                families.ofKin(session, HOLD_FRESH, handler.family()),
                params -> params.add(lane).add(seq),
                row -> GuardTaken.of(false, row)));
    held.addAll(
        sql.query(
            session,
            left(end),
            families.ofKin(session, HOLD_LATE, handler.family()),
            params -> params.add(seq),
            row -> GuardTaken.of(true, row)));
    return held;
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
