package dev.pigeonhole.jdbc.internal;

import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.ConfigurationException.Problem;
import dev.pigeonhole.ErrorCode;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/**
 * Changes how many lanes an inbox has. A message keeps the lane it was accepted into, so there must
 * be none.
 *
 * <p>A node that starts meanwhile locks a row of its handlers before it joins, and all of them are
 * locked here: either it has joined and is seen, or it waits, and finds that the number is not the
 * one it was opened with.
 */
public final class Relaning {

  private static final int MOST = 4_096;

  private static final String LOCK_INBOX = "SELECT lanes FROM {inbox} WHERE id = 1 FOR UPDATE";

  private static final String LOCK_HANDLERS =
      "SELECT key_id FROM {handler} ORDER BY key_id FOR UPDATE";

  private static final String LIVING =
      "SELECT name FROM {node} WHERE state IN ('LIVE', 'STOPPING') ORDER BY incarnation LIMIT 1";

  private static final String CHANGE = "UPDATE {inbox} SET lanes = ? WHERE id = 1";

  // Receivers compare tokens: the new cells go on where the old ones ended.
  private static final String TOKENS = "SELECT handler, max(token) FROM {lane} GROUP BY handler";

  private record Family(int handler, long token) {}

  private Relaning() {}

  /** Does it, or says everything that is in the way. */
  public static void run(DataSource dataSource, @Nullable String schema, String prefix, int lanes) {
    if (lanes < 1 || lanes > MOST) {
      throw new ConfigurationException(
          ErrorCode.RANGE_INVALID,
          "lanes is %d; give a number from 1 to %d.".formatted(lanes, MOST));
    }
    Jdbc jdbc;
    try (Connection connection = dataSource.getConnection()) {
      Dialect dialect = Dialect.of(connection.getMetaData().getDatabaseProductName());
      jdbc = new Jdbc(dataSource, dialect, Tables.on(connection, dialect, schema, prefix), null);
    } catch (SQLException e) {
      throw Errors.unreachable(e);
    }
    List<Problem> problems = jdbc.transaction(session -> run(session, lanes));
    if (!problems.isEmpty()) {
      throw new ConfigurationException(problems);
    }
  }

  private static List<Problem> run(Session session, int lanes) throws SQLException {
    if (!Migrations.exists(session, "inbox")) {
      return List.of(
          new Problem(
              ErrorCode.SCHEMA_VERSION,
              ("There are no tables %s… in %s whose lanes could be changed. Check schema and"
                      + " prefix, or make the tables with %s.applyTo(dataSource).")
                  .formatted(
                      session.tables.plain(""), session.tables.schema(), session.tables.inJava())));
    }
    List<Integer> present = session.query(LOCK_INBOX, params -> {}, row -> row.getInt(1));
    if (present.isEmpty() || present.get(0) == lanes) {
      return List.of(); // the first start decides, or has decided so
    }
    session.query(LOCK_HANDLERS, params -> {}, row -> row.getInt(1));
    List<Problem> problems = inTheWay(session, present.get(0));
    if (problems.isEmpty()) {
      change(session, lanes);
    }
    return problems;
  }

  private static List<Problem> inTheWay(Session session, int present) throws SQLException {
    List<Problem> problems = new ArrayList<>();
    for (String name : session.query(LIVING, params -> {}, row -> row.getString(1))) {
      problems.add(
          new Problem(
              ErrorCode.LANES_DIFFER,
              ("The inbox keeps its %d lanes: node '%s' has not stopped. Stop every node; after a"
                      + " crash, start one with %d lanes and stop it when it has declared the other"
                      + " one dead.")
                  .formatted(present, name, present)));
    }
    for (String table : List.of("message", "delivery", "later", "poison")) {
      boolean empty =
          session
              .query("SELECT seq FROM {" + table + "} LIMIT 1", params -> {}, row -> row.getLong(1))
              .isEmpty();
      if (!empty) {
        problems.add(
            new Problem(
                ErrorCode.LANES_DIFFER,
                ("The inbox keeps its %d lanes: table %s holds rows, and they stand in lanes. Use"
                        + " an inbox of its own, with another prefix, for the new number.")
                    .formatted(present, session.tables.plain(table))));
        break;
      }
    }
    return problems;
  }

  private static void change(Session session, int lanes) throws SQLException {
    List<Family> families =
        session.query(TOKENS, params -> {}, row -> new Family(row.getInt(1), row.getLong(2)));
    session.update(CHANGE, params -> params.add(lanes));
    session.update("DELETE FROM {lane}", params -> {});
    for (Family family : families) {
      session.insert(
          "INSERT INTO {lane} (handler, lane, token) VALUES ",
          "(?, ?, ?)",
          IntStream.range(0, lanes).boxed().toList(),
          (params, lane) -> params.add(family.handler()).add(lane.intValue()).add(family.token()));
    }
  }
}
