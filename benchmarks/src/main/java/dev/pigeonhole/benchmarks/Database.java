package dev.pigeonhole.benchmarks;

import dev.pigeonhole.support.DatabaseServer;
import dev.pigeonhole.support.MariaDbServer;
import dev.pigeonhole.support.PostgresServer;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** What everything runs on: a server that was started for it, one that was there, or a file. */
final class Database implements AutoCloseable {

  /** For a machine with some memory, the same for everybody; what makes it durable is on. */
  private static final Map<String, String> POSTGRES_SETTINGS =
      Map.of(
          "shared_buffers",
          "1GB",
          "max_wal_size",
          "4GB",
          "checkpoint_timeout",
          "15min",
          "dynamic_shared_memory_type",
          "posix");

  private static final Map<Store, List<String>> TOLD =
      Map.of(
          Store.POSTGRES,
          List.of(
              "fsync",
              "full_page_writes",
              "synchronous_commit",
              "shared_buffers",
              "max_wal_size",
              "checkpoint_timeout",
              "autovacuum",
              "max_connections"),
          Store.MARIADB,
          List.of("innodb_flush_log_at_trx_commit", "sync_binlog", "innodb_buffer_pool_size"),
          Store.H2,
          List.of());

  /** The catalogue itself: the other views hide what one may not read. */
  private static final String TABLES_ON_POSTGRES =
      "SELECT n.nspname, c.relname FROM pg_catalog.pg_class c"
          + " JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace"
          + " WHERE c.relkind IN ('r', 'p') AND lower(c.relname) LIKE 'pigeonhole!_%' ESCAPE '!'"
          + " ORDER BY 1, 2";

  private static final String TABLES_ON_MARIADB =
      "SELECT table_schema, table_name FROM information_schema.tables"
          + " WHERE lower(table_name) LIKE 'pigeonhole!_%' ESCAPE '!' ORDER BY 1, 2";

  private final Store store;
  private final String url;
  private final String user;
  private final String password;
  private final @Nullable DatabaseServer server;
  private final Path directory;
  private volatile @Nullable Place open;
  private int schemas;

  private Database(
      Store store,
      String url,
      String user,
      String password,
      @Nullable DatabaseServer server,
      Path directory) {
    this.store = store;
    this.url = url;
    this.user = user;
    this.password = password;
    this.server = server;
    this.directory = directory;
  }

  /**
   * @param directory where a file of H2 may stand
   * @throws UsageException if somebody's inbox lives at the URL
   */
  static Database open(Options options, Path directory) throws NoDatabaseException, UsageException {
    if (options.url() != null) {
      return existing(options.store(), options.url(), directory);
    }
    try {
      return switch (options.store()) {
        case POSTGRES -> on(Store.POSTGRES, PostgresServer.start(POSTGRES_SETTINGS), directory);
        case MARIADB -> on(Store.MARIADB, MariaDbServer.start(), directory);
        case H2 -> new Database(Store.H2, "", "sa", "", null, directory);
      };
    } catch (RuntimeException | AssertionError e) {
      throw new NoDatabaseException(
          "no %s could be started: %s".formatted(options.store().text(), e.getMessage()), e);
    }
  }

  private static Database on(Store store, DatabaseServer server, Path directory) {
    return new Database(
        store, server.jdbcUrl(), server.user(), server.password(), server, directory);
  }

  private static Database existing(Store store, String url, Path directory)
      throws NoDatabaseException, UsageException {
    Map<String, String> environment = System.getenv();
    Database database =
        new Database(
            store,
            url,
            environment.getOrDefault("PIGEONHOLE_BENCH_USER", ""),
            environment.getOrDefault("PIGEONHOLE_BENCH_PASSWORD", ""),
            null,
            directory);
    try {
      List<String> found =
          database.ask(store == Store.POSTGRES ? TABLES_ON_POSTGRES : TABLES_ON_MARIADB);
      if (!found.isEmpty()) {
        throw new UsageException(
            "the database holds tables of an inbox, for example %s; it would be measured, too"
                .formatted(found.get(0)),
            found.get(0).matches("bench_\\d+_\\d+\\..*")
                ? "DROP SCHEMA %s CASCADE, which a run that was killed has left"
                    .formatted(found.get(0).replaceFirst("\\..*", ""))
                : "./bench --url with a database of its own, or ./bench without --url");
      }
    } catch (SQLException e) {
      throw new NoDatabaseException("cannot connect to %s: %s".formatted(url, e.getMessage()), e);
    }
    return database;
  }

  /** For example {@code PostgreSQL 18.6}. */
  String title() {
    return switch (store) {
      case POSTGRES -> "PostgreSQL " + setting("server_version");
      case MARIADB -> "MariaDB " + setting("version");
      case H2 -> "H2 in a file";
    };
  }

  /** What it says itself about what it was set to. */
  Map<String, String> settings() {
    if (store == Store.H2) {
      return Map.of("WRITE_DELAY", "0");
    }
    Map<String, String> settings = new LinkedHashMap<>();
    TOLD.getOrDefault(store, List.of()).forEach(name -> settings.put(name, setting(name)));
    return settings;
  }

  private String setting(String name) {
    try {
      List<String> answer = ask(store == Store.POSTGRES ? "SHOW " + name : "SELECT @@" + name);
      return answer.isEmpty() ? "unknown" : answer.get(0);
    } catch (SQLException e) {
      throw new IllegalStateException("Cannot read the setting " + name, e);
    }
  }

  /** The process that all others of the server descend from; 0 if it is not ours. */
  long serverPid() {
    return server == null ? 0 : server.pid();
  }

  /** A new, empty place for the tables of one run. */
  Place newPlace() throws SQLException {
    Place place = create();
    open = place;
    return place;
  }

  /** Removes what a run that will not end has made, from a server that outlives us. */
  void abandon() {
    Place left = open;
    if (server == null && store != Store.H2 && left != null) {
      try {
        left.close();
      } catch (SQLException e) {
        System.err.println("bench: could not remove " + left.schema + ": " + e.getMessage());
      }
    }
  }

  private Place create() throws SQLException {
    String schema = "bench_%d_%d".formatted(ProcessHandle.current().pid(), ++schemas);
    switch (store) {
      case POSTGRES -> {
        execute("CREATE SCHEMA " + schema);
        // A checkpoint that somebody else has earned would otherwise fall into this run.
        tryTo("CHECKPOINT");
        return new Place(
            url
                + (url.contains("?") ? "&" : "?")
                + "currentSchema="
                + schema
                + "&reWriteBatchedInserts=true",
            schema,
            () -> execute("DROP SCHEMA " + schema + " CASCADE"));
      }
      case MARIADB -> {
        execute("CREATE DATABASE " + schema);
        return new Place(
            url.replaceFirst("^(jdbc:mariadb://[^/?]+)/?[^?]*", "$1/" + schema),
            schema,
            () -> execute("DROP DATABASE " + schema));
      }
      case H2 -> {
        // Without WRITE_DELAY=0 it flushes half a second after it has confirmed.
        return new Place(
            "jdbc:h2:file:" + directory.resolve(schema) + ";WRITE_DELAY=0",
            schema,
            () -> deleteFile(schema));
      }
    }
    throw new AssertionError(store);
  }

  private void deleteFile(String schema) {
    for (String ending : List.of(".mv.db", ".trace.db")) {
      directory.resolve(schema + ending).toFile().delete();
    }
  }

  private void execute(String sql) throws SQLException {
    try (Connection connection = connect();
        Statement statement = connection.createStatement()) {
      statement.execute(sql);
    }
  }

  private void tryTo(String sql) {
    try {
      execute(sql);
    } catch (SQLException e) {
      // Whoever has lent us a database need not have made us its administrator.
    }
  }

  private List<String> ask(String sql) throws SQLException {
    try (Connection connection = connect();
        Statement statement = connection.createStatement();
        ResultSet result = statement.executeQuery(sql)) {
      List<String> rows = new ArrayList<>();
      int columns = result.getMetaData().getColumnCount();
      while (result.next()) {
        StringBuilder row = new StringBuilder(result.getString(1));
        for (int column = 2; column <= columns; column++) {
          row.append('.').append(result.getString(column));
        }
        rows.add(row.toString());
      }
      return rows;
    }
  }

  private Connection connect() throws SQLException {
    return DriverManager.getConnection(url, user, password);
  }

  @Override
  public void close() {
    if (server != null) {
      server.close();
    }
  }

  /** Where the tables of a run are; they go when it is closed. */
  final class Place implements AutoCloseable {

    private final String jdbcUrl;
    private final String schema;
    private final Drop drop;

    private Place(String jdbcUrl, String schema, Drop drop) {
      this.jdbcUrl = jdbcUrl;
      this.schema = schema;
      this.drop = drop;
    }

    /** What a subject must know to get there. */
    Map<String, String> toValues() {
      Map<String, String> values = new LinkedHashMap<>();
      values.put("url", jdbcUrl);
      values.put("user", user);
      values.put("password", password);
      values.put("schema", schema);
      values.put("server", Long.toString(serverPid()));
      return values;
    }

    @Override
    public void close() throws SQLException {
      drop.run();
      open = null;
    }
  }

  private interface Drop {
    void run() throws SQLException;
  }
}
