package dev.pigeonhole.jdbc.internal;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.TestDatabase;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * How many rows a statement touches, as the servers themselves count it: PostgreSQL in the plan as
 * it was executed, MariaDB in the counters of the session.
 */
final class Costs {
  private static final Pattern SCAN =
      Pattern.compile("Scan.* on pigeonhole_\\w+.*\\(actual .*rows=([\\d.]+) loops=(\\d+)\\)");
  private static final Pattern REMOVED =
      Pattern.compile("Rows Removed by (?:Filter|Index Recheck): (\\d+)");

  private Costs() {}

  /** One connection to a database with the usual tables. */
  static Jdbc jdbc(TestDatabase database) throws SQLException {
    try (Connection connection = database.dataSource().getConnection()) {
      Dialect dialect = Dialect.of(connection.getMetaData().getDatabaseProductName());
      return new Jdbc(
          database.pool(1), dialect, new Tables(dialect.quote(), null, "pigeonhole_"), null);
    }
  }

  /** How a statement is run. */
  interface Runs {
    List<String> run(
        Session session, String statement, Session.Bind bind, Session.Mapper<String> mapper)
        throws SQLException;
  }

  static long explain(Session session, Runs runs, String statement, Session.Bind bind)
      throws SQLException {
    List<String> plan =
        runs.run(
            session, "EXPLAIN (ANALYZE, TIMING OFF) " + statement, bind, row -> row.getString(1));
    double read = 0;
    double loops = 0;
    for (String line : plan) {
      Matcher scan = SCAN.matcher(line);
      Matcher removed = REMOVED.matcher(line);
      if (scan.find()) {
        loops = Double.parseDouble(scan.group(2));
        read += Double.parseDouble(scan.group(1)) * loops;
      } else if (removed.find()) {
        read += Double.parseDouble(removed.group(1)) * loops;
      }
    }
    assertThat(loops).as("scans in\n%s", String.join("\n", plan)).isPositive();
    return Math.round(read);
  }

  /** Something that reads. */
  interface Reading {
    void run() throws SQLException;
  }

  static long counted(Session session, Reading reading) throws SQLException {
    long first = handlerReads(session.connection);
    long second = handlerReads(session.connection);
    reading.run();
    long third = handlerReads(session.connection);
    long ofTheQuestionItself = second - first;
    return third - second - ofTheQuestionItself;
  }

  /**
   * Removes the rows of a table and has the server count it: it then believes the table to be
   * empty, whatever comes, as long as nobody counts again.
   */
  static void countEmpty(TestDatabase database, String table) {
    String name = "pigeonhole_" + table;
    database.execute("DELETE FROM " + name);
    if (database.kind() == DatabaseKind.POSTGRES) {
      database.execute("ALTER TABLE %s SET (autovacuum_enabled = off)".formatted(name));
      database.execute("VACUUM (ANALYZE, TRUNCATE off) " + name);
    } else {
      database.execute(
          "ALTER TABLE %s STATS_PERSISTENT = 1, STATS_AUTO_RECALC = 0".formatted(name));
      database.execute("ANALYZE TABLE " + name);
    }
  }

  /** Rows of a table that were read, in this transaction. */
  static long read(Session session, String table, Reading reading) throws SQLException {
    if (!(session.dialect.statements() instanceof PostgresStatements)) {
      return counted(session, reading);
    }
    long before = fetched(session, table);
    reading.run();
    return fetched(session, table) - before;
  }

  private static long fetched(Session session, String table) throws SQLException {
    return session
        .one(
            """
            SELECT t.seq_tup_read + sum(pg_stat_get_xact_tuples_returned(i.indexrelid))
            FROM pg_stat_xact_user_tables t JOIN pg_index i ON i.indrelid = t.relid
            WHERE t.relname = 'pigeonhole_' || ? GROUP BY t.seq_tup_read""",
            params -> params.add(table),
            row -> row.getLong(1))
        .orElseThrow();
  }

  private static long handlerReads(Connection connection) throws SQLException {
    long sum = 0;
    try (Statement statement = connection.createStatement();
        ResultSet row = statement.executeQuery("SHOW SESSION STATUS LIKE 'Handler_read_%'")) {
      while (row.next()) {
        sum += row.getLong(2);
      }
    }
    return sum;
  }
}
