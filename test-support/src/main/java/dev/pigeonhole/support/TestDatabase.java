package dev.pigeonhole.support;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;
import javax.sql.DataSource;
import org.h2.jdbcx.JdbcDataSource;
import org.jspecify.annotations.Nullable;
import org.mariadb.jdbc.MariaDbDataSource;
import org.postgresql.ds.PGSimpleDataSource;

/**
 * An empty database, or schema, for one test, created at its first use. Closing it closes its
 * pools, fails if the tables of an inbox have {@link DuplicateRows}, and drops it with everything
 * inside, unless it was {@link #prepare prepared} and can serve another test.
 */
public final class TestDatabase implements AutoCloseable {

  /** How a database disappears; it may fail when the server is down, and nobody minds. */
  @FunctionalInterface
  interface Drop {
    void run() throws SQLException;
  }

  /**
   * A place for tables.
   *
   * @param drop null for a view, which closes nothing but its pools
   */
  record Place(String schema, String jdbcUrl, @Nullable Drop drop) {}

  private final DatabaseKind kind;
  private final String user;
  private final String password;
  private final @Nullable ServerSchemas schemas; // null where a new place costs next to nothing
  private final List<HikariDataSource> pools = new CopyOnWriteArrayList<>();
  private @Nullable Place place; // this and what follows: guarded by this
  private @Nullable DataSource dataSource;
  private ServerSchemas.@Nullable Prepared prepared;
  private boolean closed;

  TestDatabase(String user, String password, Place place) {
    this.kind = DatabaseKind.of(place.jdbcUrl());
    this.user = user;
    this.password = password;
    this.schemas = null;
    this.place = place;
  }

  TestDatabase(DatabaseKind kind, String user, String password, ServerSchemas schemas) {
    this.kind = kind;
    this.user = user;
    this.password = password;
    this.schemas = schemas;
  }

  /**
   * The view of another process on a database: a child JVM gets URL, user and password as
   * arguments. Closing it drops nothing.
   */
  public static TestDatabase attach(String jdbcUrl, String user, String password) {
    return new TestDatabase(user, password, new Place("", jdbcUrl, null));
  }

  /**
   * Makes tables, or takes a schema in which an earlier test has had the same ones made and that
   * has been emptied since; creating and dropping them costs a server many times more. For tests
   * that change rows: one that changes the tables, or leaves a session behind, gets its schema
   * dropped, as does one that has done anything else before.
   *
   * @param tables the name of the preparation: the same name, the same tables
   */
  public synchronized TestDatabase prepare(String tables, Consumer<TestDatabase> preparation) {
    if (schemas == null || place != null) {
      preparation.accept(this);
      return this;
    }
    prepared = schemas.takePrepared(tables);
    if (prepared != null) {
      place = schemas.place(prepared.schema());
      return this;
    }
    preparation.accept(this);
    prepared = schemas.describe(tables, this);
    return this;
  }

  /** The same database with one more parameter in the URL; closing it drops nothing. */
  public TestDatabase with(String parameter, String value) {
    String separator = kind == DatabaseKind.H2 ? ";" : jdbcUrl().contains("?") ? "&" : "?";
    return view(jdbcUrl() + separator + parameter + "=" + value);
  }

  /** The same database reached through a proxy to its server; closing it drops nothing. */
  public TestDatabase through(FaultProxy proxy) {
    return view(jdbcUrl().replaceFirst("127\\.0\\.0\\.1:\\d+", "127.0.0.1:" + proxy.port()));
  }

  private TestDatabase view(String url) {
    return new TestDatabase(user, password, new Place(schema(), url, null));
  }

  public DatabaseKind kind() {
    return kind;
  }

  public String jdbcUrl() {
    return place().jdbcUrl();
  }

  public String user() {
    return user;
  }

  public String password() {
    return password;
  }

  /** The schema of PostgreSQL, the database of MariaDB, the file or memory name of H2. */
  public String schema() {
    return place().schema();
  }

  private synchronized Place place() {
    if (place == null) {
      place = Objects.requireNonNull(schemas).create();
    }
    return place;
  }

  /** Opens a new connection each time; nothing is pooled. */
  public synchronized DataSource dataSource() {
    if (closed && prepared != null) {
      throw new IllegalStateException("This database is closed, and its schema serves other tests");
    }
    if (dataSource == null) {
      dataSource = plainDataSource(kind, jdbcUrl(), user, password);
    }
    return dataSource;
  }

  /**
   * A new pool of at most this many connections, closed together with the database. They are opened
   * when they are asked for, and kept: most tests have use for few of them.
   */
  public HikariDataSource pool(int size) {
    HikariConfig config = new HikariConfig();
    config.setDataSource(dataSource());
    config.setMaximumPoolSize(size);
    config.setMinimumIdle(0);
    config.setIdleTimeout(0);
    config.setPoolName(kind.name().toLowerCase(Locale.ROOT) + "-" + schema());
    HikariDataSource pool = new HikariDataSource(config);
    pools.add(pool);
    return pool;
  }

  /** Runs one statement and commits it. */
  public void execute(String sql, @Nullable Object... args) {
    run(sql, args, PreparedStatement::execute);
  }

  /** The first column of the first row as a number, as in {@code SELECT count(*)}. */
  public long count(String sql, @Nullable Object... args) {
    return run(
        sql,
        args,
        statement -> {
          try (ResultSet result = statement.executeQuery()) {
            if (!result.next()) {
              throw new AssertionError("No row: " + sql);
            }
            return result.getLong(1);
          }
        });
  }

  /** All rows, each with its column labels in lower case and in the order of the query. */
  public List<Map<String, @Nullable Object>> rows(String sql, @Nullable Object... args) {
    return run(sql, args, TestDatabase::rowsOf);
  }

  private static List<Map<String, @Nullable Object>> rowsOf(PreparedStatement statement)
      throws SQLException {
    try (ResultSet result = statement.executeQuery()) {
      return rowsOf(result);
    }
  }

  private static List<Map<String, @Nullable Object>> rowsOf(ResultSet result) throws SQLException {
    ResultSetMetaData columns = result.getMetaData();
    List<Map<String, @Nullable Object>> rows = new ArrayList<>();
    while (result.next()) {
      Map<String, @Nullable Object> row = new LinkedHashMap<>();
      for (int i = 1; i <= columns.getColumnCount(); i++) {
        row.put(columns.getColumnLabel(i).toLowerCase(Locale.ROOT), result.getObject(i));
      }
      rows.add(row);
    }
    return rows;
  }

  private <T> T run(String sql, @Nullable Object[] args, Work<T> work) {
    try (Connection connection = dataSource().getConnection()) {
      return run(connection, sql, args, work);
    } catch (SQLException e) {
      throw new IllegalStateException("Failed: " + sql, e);
    }
  }

  private static <T> T run(Connection connection, String sql, @Nullable Object[] args, Work<T> work)
      throws SQLException {
    try (PreparedStatement statement = connection.prepareStatement(sql)) {
      for (int i = 0; i < args.length; i++) {
        statement.setObject(i + 1, args[i]);
      }
      return work.on(statement);
    }
  }

  @Override
  public synchronized void close() {
    pools.forEach(HikariDataSource::close);
    pools.clear();
    if (place == null || place.drop() == null || closed) {
      return; // never used, or a view
    }
    Place left = place;
    List<String> duplicates = List.of();
    boolean kept = false;
    try (Connection last = lastConnection()) {
      if (last != null) {
        duplicates = duplicates(last);
        kept =
            schemas != null
                && prepared != null
                && duplicates.isEmpty()
                && schemas.keep(prepared, last);
      }
    } catch (SQLException e) {
      // on closing the connection: its server is stopping
    } finally {
      closed = true; // a kept schema belongs to another test now
      if (!kept) {
        drop(left);
      }
    }
    if (!duplicates.isEmpty()) {
      throw new AssertionError("More than one row of a message and a handler: " + duplicates);
    }
  }

  /** One for all that is to do at the end, as a new one costs a server more than all of that. */
  private @Nullable Connection lastConnection() {
    try {
      return dataSource().getConnection();
    } catch (SQLException e) {
      return null; // its server is down, or its file is open in another process
    }
  }

  private List<String> duplicates(Connection connection) {
    try {
      return DuplicateRows.ofHandlerNumbers(
          kind, (sql, args) -> run(connection, sql, args, TestDatabase::rowsOf));
    } catch (SQLException e) {
      throw new IllegalStateException("Cannot look for duplicate rows", e);
    }
  }

  private static void drop(Place place) {
    try {
      Objects.requireNonNull(place.drop()).run();
    } catch (SQLException e) {
      // A test may end with its server down; the data goes away with the server.
    }
  }

  /** Names the database in the titles of parameterised tests, before they use it. */
  @Override
  public String toString() {
    return kind.toString();
  }

  static DataSource plainDataSource(
      DatabaseKind kind, String jdbcUrl, String user, String password) {
    try {
      switch (kind) {
        case POSTGRES -> {
          PGSimpleDataSource postgres = new PGSimpleDataSource();
          postgres.setURL(jdbcUrl);
          postgres.setUser(user);
          postgres.setPassword(password);
          return postgres;
        }
        case MARIADB -> {
          MariaDbDataSource mariaDb = new MariaDbDataSource(jdbcUrl);
          mariaDb.setUser(user);
          mariaDb.setPassword(password);
          return mariaDb;
        }
        case H2 -> {
          JdbcDataSource h2 = new JdbcDataSource();
          h2.setURL(jdbcUrl);
          h2.setUser(user);
          h2.setPassword(password);
          return h2;
        }
      }
      throw new AssertionError(kind);
    } catch (SQLException e) {
      throw new IllegalArgumentException("Not a usable URL: " + jdbcUrl, e);
    }
  }

  @FunctionalInterface
  private interface Work<T> {
    T on(PreparedStatement statement) throws SQLException;
  }
}
