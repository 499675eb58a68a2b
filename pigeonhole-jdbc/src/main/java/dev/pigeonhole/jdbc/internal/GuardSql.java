package dev.pigeonhole.jdbc.internal;

import dev.pigeonhole.store.Guards.Request;
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
      INSERT INTO {message} (seq, source, id, type, channel, transport, lane, content_type, headers,
                             content_hash, token, dropped, received_at)
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
   * @param row where its receipt stands, as the database names the place; null where it has to be
   *     looked up
   */
  record Fresh(long seq, @Nullable String row) {}

  /**
   * Completes a receipt that was stored in the same transaction; answers how many were hit.
   *
   * @param row what {@link Fresh} says of it
   */
  default int complete(Session session, String statement, @Nullable String row, Session.Bind bind)
      throws SQLException {
    return update(session, statement, bind);
  }

  /** Changes rows by their key; answers how many. */
  default int update(Session session, String statement, Session.Bind bind) throws SQLException {
    return session.update(statement, bind);
  }

  /**
   * Stores identity and receipt, if the identity is new; a copy in an open transaction is waited
   * for.
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
