package dev.pigeonhole.support;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import javax.sql.DataSource;

/** What both databases share: connections, schemas, and how to ask. */
abstract class LocalDatabaseServer extends LocalServer implements DatabaseServer {

  private final Signal stop;
  private final ServerSchemas schemas = new ServerSchemas(this);

  LocalDatabaseServer(String directory, Signal stop, Signal whenOrphaned) {
    super(directory, whenOrphaned);
    this.stop = stop;
  }

  /** The statement that creates, and the one that drops, a place for tables. */
  abstract String createSchema(String schema);

  abstract String dropSchema(String schema);

  abstract String jdbcUrl(String schema);

  /** What tables and all else in a schema look like: another text after every change of them. */
  abstract String structure(Connection connection, String schema) throws SQLException;

  /** A query for the number of other sessions in a schema. */
  abstract String otherSessions(String schema);

  /** Statements that let all sequences of a schema begin again. */
  abstract List<String> restartSequences(Connection connection) throws SQLException;

  @Override
  final String title() {
    return kind().toString();
  }

  @Override
  final boolean answers() {
    try (Connection connection = dataSource().getConnection()) {
      return connection.isValid(1);
    } catch (SQLException e) {
      return false;
    }
  }

  final Path data() {
    return home().resolve("data");
  }

  @Override
  public final void stopFast() {
    stop(stop);
  }

  @Override
  public final DataSource dataSource() {
    return TestDatabase.plainDataSource(kind(), jdbcUrl(), user(), password());
  }

  @Override
  public final TestDatabase emptySchema() {
    return new TestDatabase(kind(), user(), password(), schemas);
  }

  final void execute(String sql) throws SQLException {
    try (Connection connection = dataSource().getConnection();
        Statement statement = connection.createStatement()) {
      statement.execute(sql);
    }
  }

  /** The first row of a query, one column of it. */
  final String ask(String sql, int column) {
    try (Connection connection = dataSource().getConnection();
        Statement statement = connection.createStatement();
        ResultSet result = statement.executeQuery(sql)) {
      if (!result.next()) {
        throw new IllegalStateException("No answer: " + sql);
      }
      return result.getString(column);
    } catch (SQLException e) {
      throw new IllegalStateException("Failed: " + sql, e);
    }
  }
}
