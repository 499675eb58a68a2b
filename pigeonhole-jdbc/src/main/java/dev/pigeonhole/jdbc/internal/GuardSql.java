package dev.pigeonhole.jdbc.internal;

import dev.pigeonhole.store.Guards.Request;
import dev.pigeonhole.store.HandlerId;
import dev.pigeonhole.store.NewMessage;
import java.sql.SQLException;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * What a guard asks for in a transaction that it shares with the work behind it: statements that
 * wait for others no longer than they are told, and leave every setting as it was.
 */
interface GuardSql {

  // Index: message_identity. A guard keeps no content.
  String INSERT_MESSAGE =
      """
      INSERT INTO {message} (seq, source, id, type, oldest_type, channel, transport, lane, content_type,
                             headers, content_hash, token, dropped, received_at)
      """;

  // Index: receipt_pk. It is running, see Receipts.
  String INSERT_RECEIPT =
      """
      INSERT INTO {receipt} (seq, handler, key_id, failures, crashes, releases, token,
                             request_hash, outcome, completed_at)
      """;

  // Arbiter: answer_pk.
  String INSERT_ANSWER =
      """
      INSERT INTO {answer} (seq, handler, content_type, content, keep_until)
      VALUES (?, ?, ?, ?, %s)
      """;

  String ROW = "VALUES (?, ?, ?, ?, ?, ?, ?, ?, " + Receipts.RUNNING + ", {now})";

  /** Runs a statement that may answer rows. */
  <T> List<T> query(
      Session session,
      int waitMillis,
      String statement,
      Session.Bind bind,
      Session.Mapper<T> mapper)
      throws SQLException;

  /**
   * An identity that was new.
   *
   * @param first null where its receipt stands beside it, as running; else the receipt is still to
   *     be inserted
   */
  record Fresh(long seq, @Nullable First first) {}

  /**
   * Where a run began that writes its receipt in the end.
   *
   * @param row the place of the message, as the database names it
   * @param transaction its number
   */
  record First(String row, String transaction) {}

  /**
   * The receipt of a run that has done its work.
   *
   * @param handler by the number and the name that it stands under
   * @param first what {@link Fresh} says
   * @param until how long it is to be kept, as SQL
   * @param touched how often deliveries were added to the message when the run began; null to
   *     complete the receipt even if the run has added some
   */
  record Receipt(
      long seq,
      HandlerId handler,
      long token,
      Request request,
      @Nullable First first,
      String until,
      @Nullable Integer touched) {

    /** The same, whatever was added. */
    Receipt anyway() {
      return new Receipt(seq, handler, token, request, first, until, null);
    }

    void bindKey(Params params) throws SQLException {
      params.add(seq).add(handler.family()).add(token);
    }
  }

  // Index: receipt_pk.
  String COMPLETE =
      """
      UPDATE {receipt} SET outcome = %d, completed_at = {now}, keep_until = %s
      WHERE seq = ? AND handler = ? AND token = ?""";

  // Index: message_pk. The run holds the row, so only its own transaction can have touched it.
  String IF_UNTOUCHED = " AND ? = (SELECT m.touched FROM {message} m WHERE m.seq = ?)";

  /**
   * Completes the receipt, in the transaction that the run began in.
   *
   * @return how many were hit; none if that transaction has ended meanwhile, or has added
   *     deliveries to the message
   */
  default int complete(Session session, Receipt receipt) throws SQLException {
    Integer touched = receipt.touched();
    String complete = COMPLETE.formatted(Receipts.COMPLETED, receipt.until());
    return touched == null
        ? update(session, complete, receipt::bindKey)
        : update(
            session,
            complete + IF_UNTOUCHED,
            params -> {
              receipt.bindKey(params);
              params.add(touched).add(receipt.seq());
            });
  }

  /** Whether {@link #completeAndCommit} can do both for this receipt. */
  default boolean commitsWith(Receipt receipt) {
    return false;
  }

  /**
   * Completes the receipt and commits, in one trip. Fails and rolls back if the transaction is not
   * the one that the run began in.
   */
  default void completeAndCommit(Session session, Receipt receipt) throws SQLException {
    throw new UnsupportedOperationException();
  }

  /** Whether {@link #completeAndCommit} has failed because of the receipt, not of the body. */
  default boolean refusesReceipt(Tables tables, SQLException e) {
    return false;
  }

  /** Whether it has failed because the table of receipts was changed. */
  default boolean refusesEveryReceipt(Tables tables, SQLException e) {
    return false;
  }

  /** Changes rows by their key; answers how many. */
  default int update(Session session, String statement, Session.Bind bind) throws SQLException {
    return session.update(statement, bind);
  }

  /**
   * Stores the identity if it is new, with or without its receipt; a copy in an open transaction is
   * waited for.
   *
   * @param alone whether the row of a known one will be locked against other guards next
   * @return empty if it is known
   */
  Optional<Fresh> enterNew(
      Session session, int waitMillis, Request request, long token, boolean alone)
      throws SQLException;

  /** Inserts a row unless its key is there; one in an open transaction is waited for. */
  boolean insertUnlessThere(Session session, int waitMillis, String insert, Session.Bind bind)
      throws SQLException;

  /**
   * Stores an answer, in place of one that may be left of a run that was replayed. One statement:
   * to delete what is not there would lock the place where it could be against strangers.
   *
   * @param until when it goes, as SQL
   */
  String keepAnswer(String until);

  /**
   * What stands behind a SELECT of a message, so that nobody deletes it or adds deliveries to it,
   * and other guards read it all the same.
   */
  String share();

  static void bind(Params params, NewMessage message, long token) throws SQLException {
    params
        .add(message.source())
        .add(message.id())
        .add(message.type())
        .add(message.oldestType())
        .add(message.channel())
        .add(message.transport())
        .add(message.lane())
        .add(message.contentType())
        .add(message.headers())
        .add(message.contentHash())
        .add(token);
  }

  static Session.Bind receipt(long seq, Request request, GuardTaken taken, long token) {
    return params ->
        params
            .add(seq)
            .add(taken.handler())
            .add(taken.keyId())
            .add(taken.failures())
            .add(taken.crashes())
            .add(taken.releases())
            .add(token)
            .add(request.asked());
  }
}
