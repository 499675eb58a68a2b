package dev.pigeonhole.jdbc.internal;

import dev.pigeonhole.store.Guards.Request;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The settings go with the statement in one round trip: set in front of it, put back behind it. If
 * it fails in between, rolling back puts them back. Why rows are looked up with these settings says
 * {@link PostgresStatements}.
 */
final class PostgresGuardSql implements GuardSql {

  private static final List<String> SETTINGS =
      Stream.concat(Stream.of("lock_timeout"), PostgresStatements.PLANNING.stream()).toList();

  private static final String BEFORE =
      SETTINGS.stream()
          .map("set_config('pigeonhole.%1$s', current_setting('%1$s'), true)"::formatted)
          .collect(
              Collectors.joining(
                  ", ",
                  "SELECT ",
                  ", set_config('lock_timeout', '%d', true), "
                      + PostgresStatements.BY_INDEX
                      + ";\n"));

  private static final String AFTER =
      SETTINGS.stream()
          .map("set_config('%1$s', current_setting('pigeonhole.%1$s'), true)"::formatted)
          .collect(Collectors.joining(", ", ";\nSELECT ", ""));

  // Arbiter: message_identity. Nothing is looked up, so one plan serves for ever. The limit is set
  // before the insert that may wait, whose row comes from base, and put back behind it, whose rows
  // are counted first.
  private static final String ENTER_NEW =
      """
      WITH base AS MATERIALIZED (
        SELECT nextval('{message_seq}') AS seq,
               set_config('pigeonhole.lock_timeout', current_setting('lock_timeout'), true),
               set_config('lock_timeout', ?, true)%s
      ), fresh AS (
      """
          + INSERT_MESSAGE
          + """
            SELECT base.seq, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, TRUE, {now} FROM base
            ON CONFLICT (source, id) DO NOTHING
            RETURNING seq, ctid, pg_current_xact_id() AS xid
            )
            SELECT max(seq), max(ctid::text), max(xid::text),
                   set_config('lock_timeout', current_setting('pigeonhole.lock_timeout'), true)
            FROM fresh
            """;

  private static final String ENTER_NEW_JOINED = ENTER_NEW.formatted("");

  private static final String INSERT_COMPLETED =
      """
      INSERT INTO {receipt} (seq, handler, key_id, failures, crashes, releases, token,
                             request_hash, outcome, completed_at, keep_until)
      """;

  // The row of the message is found without an index. It is another one if the body has counted a
  // repeat of the same message.
  private static final String COMPLETE_NEW =
      INSERT_COMPLETED
          + """
            SELECT m.seq, ?, ?, 0, 0, 0, m.token, ?, %d, {now}, %s FROM {message} m
            WHERE m.seq = ? AND m.token = ?""";

  private static final String AT = " AND m.ctid = ?::tid RETURNING 1";

  // Nothing is looked up. A receipt without a number is refused, and nothing committed: that is how
  // this fails in another transaction than the one that it began in, and after deliveries of a
  // known message, maybe of this one, were added.
  private static final String COMPLETE_NEW_AND_COMMIT =
      INSERT_COMPLETED
          + """
            VALUES (CASE WHEN pg_current_xact_id() = ?::xid8 AND %s THEN ?::bigint END,
                    ?, ?, 0, 0, 0, ?, ?, %d, {now}, %s);COMMIT""";

  /** By how long the receipt is kept; to put a text together takes longer than to look it up. */
  private final Map<String, String> completing = new ConcurrentHashMap<>();

  /** By how long the client may be silent, in the same way. */
  private final Map<Duration, String> entering = new ConcurrentHashMap<>();

  @Override
  public <T> List<T> query(
      Session session,
      int waitMillis,
      String statement,
      Session.Bind bind,
      Session.Mapper<T> mapper)
      throws SQLException {
    String text = BEFORE.formatted(waitMillis) + session.sql(statement) + AFTER;
    return session.queryNth(text, 1, bind, mapper);
  }

  @Override
  public int update(Session session, String statement, Session.Bind bind) throws SQLException {
    return PostgresStatements.fenced(session, statement + " RETURNING 1", bind, row -> true).size();
  }

  private static String enterNew(Duration silence) {
    return ENTER_NEW.formatted(",\n" + PostgresDialect.silence(silence));
  }

  @Override
  public Optional<Fresh> enterNew(
      Session session, int waitMillis, Request request, long token, boolean alone)
      throws SQLException {
    Duration silence = session.takeSilence();
    return session
        .query(
            silence == null
                ? ENTER_NEW_JOINED
                : entering.computeIfAbsent(silence, PostgresGuardSql::enterNew),
            params -> {
              params.add(String.valueOf(waitMillis));
              GuardSql.bind(params, request.message(), token);
            },
            row -> {
              String at = row.getString(2);
              return at == null
                  ? Optional.<Fresh>empty()
                  : Optional.of(new Fresh(row.getLong(1), new First(at, row.getString(3))));
            })
        .stream()
        .flatMap(Optional::stream)
        .findFirst();
  }

  @Override
  public int complete(Session session, Receipt receipt) throws SQLException {
    First first = receipt.first();
    if (first == null) {
      return GuardSql.super.complete(session, receipt);
    }
    String insert = COMPLETE_NEW.formatted(Receipts.COMPLETED, receipt.until());
    List<Boolean> inserted =
        PostgresStatements.fencedOne(
            session,
            insert + AT,
            params -> {
              bindNew(params, receipt);
              params.add(first.row());
            },
            row -> true);
    if (!inserted.isEmpty()) {
      return 1;
    }
    String ifUntouched = receipt.touched() == null ? "" : " AND m.touched = " + receipt.touched();
    return update(session, insert + ifUntouched, params -> bindNew(params, receipt));
  }

  private static void bindNew(Params params, Receipt receipt) throws SQLException {
    params.add(receipt.handler().family()).add(receipt.handler().keyId());
    params.add(receipt.request().asked()).add(receipt.seq()).add(receipt.token());
  }

  @Override
  public boolean commitsWith(Receipt receipt) {
    return receipt.first() != null;
  }

  @Override
  public void completeAndCommit(Session session, Receipt receipt) throws SQLException {
    First first = Objects.requireNonNull(receipt.first());
    session.update(
        completing.computeIfAbsent(
            receipt.until(),
            until ->
                COMPLETE_NEW_AND_COMMIT.formatted(
                    PostgresStatements.NOTHING_ADDED, Receipts.COMPLETED, until)),
        params ->
            params
                .add(first.transaction())
                .add(receipt.seq())
                .add(receipt.handler().family())
                .add(receipt.handler().keyId())
                .add(receipt.token())
                .add(receipt.request().asked()));
  }

  /** It had no number, or stands there already. */
  @Override
  public boolean refusesReceipt(Tables tables, SQLException e) {
    boolean withoutNumber = isNull(e) && names(e, "seq") && names(e, tables.plain("receipt"));
    return withoutNumber || message(e).contains(tables.plain("receipt_pk"));
  }

  /** A column or a check that is not of this library. */
  @Override
  public boolean refusesEveryReceipt(Tables tables, SQLException e) {
    boolean refused = isNull(e) || "23514".equals(Errors.root(e).getSQLState());
    return refused && names(e, tables.plain("receipt")) && !refusesReceipt(tables, e);
  }

  private static boolean isNull(SQLException e) {
    return "23502".equals(Errors.root(e).getSQLState());
  }

  /** Names are in quotes of some language. */
  private static boolean names(SQLException e, String name) {
    return Pattern.compile("\\b" + name + "\\b").matcher(message(e)).find();
  }

  private static String message(SQLException e) {
    return String.valueOf(Errors.root(e).getMessage());
  }

  @Override
  public boolean insertUnlessThere(
      Session session, int waitMillis, String insert, Session.Bind bind) throws SQLException {
    String statement = insert + " ON CONFLICT DO NOTHING RETURNING 1";
    return !query(session, waitMillis, statement, bind, row -> true).isEmpty();
  }

  @Override
  public String keepAnswer(String until) {
    return INSERT_ANSWER.formatted(until)
        + """
          ON CONFLICT (seq, handler) DO UPDATE SET content_type = excluded.content_type,
            content = excluded.content, keep_until = excluded.keep_until
          """;
  }

  /** Shuts out whoever locks it to change it, and nobody else. */
  @Override
  public String share() {
    return "FOR KEY SHARE";
  }
}
