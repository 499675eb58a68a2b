package dev.pigeonhole.jdbc.internal;

import dev.pigeonhole.store.Guards.Request;
import java.sql.SQLException;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

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

  // Arbiters: message_identity, receipt_pk. Nothing is looked up, so one plan serves for ever. The
  // limit is set before the insert that may wait, whose rows come from base, and put back behind
  // all
  // inserts, whose rows are counted first.
  private static final String ENTER_NEW =
      """
      WITH base AS MATERIALIZED (
        SELECT nextval('{message_seq}') AS seq,
               set_config('pigeonhole.lock_timeout', current_setting('lock_timeout'), true),
               set_config('lock_timeout', ?, true)
      ), fresh AS (
      """
          + INSERT_MESSAGE
          + """
            SELECT base.seq, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, TRUE, {now} FROM base
            ON CONFLICT (source, id) DO NOTHING
            RETURNING seq
            ), kept AS (
            """
          + INSERT_RECEIPT
          + """
            SELECT fresh.seq, ?, ?, 0, 0, 0, ?, ?, %d, {now} FROM fresh
            RETURNING seq, ctid
            )
            SELECT max(seq), max(ctid::text),
                   set_config('lock_timeout', current_setting('pigeonhole.lock_timeout'), true)
            FROM kept
            """
              .formatted(Receipts.RUNNING);

  // Our own row of the same transaction, which nobody else can have moved: found without an index,
  // whatever the server thinks of the size of the table.
  private static final String AT = " AND ctid = ?::tid";

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

  @Override
  public Optional<Fresh> enterNew(
      Session session, int waitMillis, Request request, long token, boolean alone)
      throws SQLException {
    return session
        .query(
            ENTER_NEW,
            params -> {
              params.add(String.valueOf(waitMillis));
              GuardSql.bind(params, request.message(), token);
              params.add(request.handler().family()).add(request.handler().keyId());
              params.add(token).add(request.asked());
            },
            row -> {
              String at = row.getString(2);
              return at == null
                  ? Optional.<Fresh>empty()
                  : Optional.of(new Fresh(row.getLong(1), at));
            })
        .stream()
        .flatMap(Optional::stream)
        .findFirst();
  }

  @Override
  public int complete(Session session, String statement, @Nullable String row, Session.Bind bind)
      throws SQLException {
    if (row == null) {
      return update(session, statement, bind);
    }
    return session.update(
        statement + AT,
        params -> {
          bind.bind(params);
          params.add(row);
        });
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
