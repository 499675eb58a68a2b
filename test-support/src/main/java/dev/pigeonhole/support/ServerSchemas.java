package dev.pigeonhole.support;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * The schemas of a server for tests: new ones, and those that a test has {@linkplain
 * TestDatabase#prepare prepared}, emptied for the next test that wants the same. A schema serves
 * again only if its tables are as the preparation made them, no session is left in it, and few rows
 * had to be deleted.
 */
final class ServerSchemas {

  /** Deleted rows stay in PostgreSQL's tables for a while, and the next test reads past them. */
  private static final int MANY_ROWS = 2_000;

  /** What a client has closed ends on the server a moment later. */
  private static final Duration END_OF_A_SESSION = Duration.ofMillis(100);

  /**
   * What a preparation has made.
   *
   * @param contents the tables, with the rows that the preparation has left in them
   */
  record Prepared(
      String tables, String schema, String structure, Map<String, List<String>> contents) {}

  private final LocalDatabaseServer server;
  private final Map<String, Deque<Prepared>> free = new HashMap<>(); // guarded by this

  ServerSchemas(LocalDatabaseServer server) {
    this.server = server;
  }

  TestDatabase.Place create() {
    String schema = "t_" + UUID.randomUUID().toString().substring(0, 8);
    try {
      server.execute(server.createSchema(schema));
    } catch (SQLException e) {
      throw new IllegalStateException("Cannot create the schema " + schema, e);
    }
    return place(schema);
  }

  TestDatabase.Place place(String schema) {
    return new TestDatabase.Place(
        schema, server.jdbcUrl(schema), () -> server.execute(server.dropSchema(schema)));
  }

  /** One that an earlier test has left, or null. */
  synchronized @Nullable Prepared takePrepared(String tables) {
    return free.computeIfAbsent(tables, any -> new ArrayDeque<>()).poll();
  }

  Prepared describe(String tables, TestDatabase database) {
    try (Connection connection = database.dataSource().getConnection()) {
      Map<String, List<String>> contents = new LinkedHashMap<>();
      for (String table : tables(connection)) {
        contents.put(table, rows(connection, "SELECT * FROM " + quoted(table)));
      }
      String schema = database.schema();
      return new Prepared(tables, schema, server.structure(connection, schema), contents);
    } catch (SQLException e) {
      throw new IllegalStateException("Cannot describe the tables of " + tables, e);
    }
  }

  /** Empties a schema for the next test; false if it has to be dropped. */
  boolean keep(Prepared prepared, Connection connection) {
    try {
      if (!isLeftAlone(prepared, connection) || !isEmptied(prepared, connection)) {
        return false;
      }
    } catch (SQLException e) {
      return false; // a row is locked, or the server goes away
    }
    synchronized (this) {
      free.computeIfAbsent(prepared.tables(), any -> new ArrayDeque<>()).push(prepared);
    }
    return true;
  }

  private boolean isLeftAlone(Prepared prepared, Connection connection) throws SQLException {
    String others = server.otherSessions(prepared.schema());
    return Eventually.holds(END_OF_A_SESSION, () -> rows(connection, others).equals(List.of("0")))
        && server.structure(connection, prepared.schema()).equals(prepared.structure());
  }

  private boolean isEmptied(Prepared prepared, Connection connection) throws SQLException {
    connection.setAutoCommit(false);
    try (Statement statement = connection.createStatement()) {
      for (Map.Entry<String, List<String>> table : prepared.contents().entrySet()) {
        if (table.getValue().isEmpty()) {
          statement.addBatch("DELETE FROM " + quoted(table.getKey()));
        } else if (!rows(connection, "SELECT * FROM " + quoted(table.getKey()))
            .equals(table.getValue())) {
          return false;
        }
      }
      long deleted = 0;
      for (int rows : statement.executeBatch()) {
        deleted += rows;
      }
      for (String restart : server.restartSequences(connection)) {
        statement.execute(restart);
      }
      connection.commit();
      return deleted <= MANY_ROWS;
    }
  }

  private List<String> tables(Connection connection) throws SQLException {
    return rows(
        connection,
        "SELECT table_name FROM information_schema.tables WHERE table_type = 'BASE TABLE'"
            + " AND table_schema = "
            + (server.kind() == DatabaseKind.MARIADB ? "DATABASE()" : "CURRENT_SCHEMA")
            + " ORDER BY table_name");
  }

  private String quoted(String table) {
    String quote = server.kind() == DatabaseKind.MARIADB ? "`" : "\"";
    return quote + table + quote;
  }

  /** Each row as a text. */
  static List<String> rows(Connection connection, String sql) throws SQLException {
    try (Statement statement = connection.createStatement();
        ResultSet result = statement.executeQuery(sql)) {
      List<String> rows = new ArrayList<>();
      while (result.next()) {
        StringBuilder row = new StringBuilder();
        for (int column = 1; column <= result.getMetaData().getColumnCount(); column++) {
          row.append(column == 1 ? "" : "|").append(result.getString(column));
        }
        rows.add(row.toString());
      }
      return rows;
    }
  }
}
