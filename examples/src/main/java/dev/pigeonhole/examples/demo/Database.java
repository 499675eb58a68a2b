package dev.pigeonhole.examples.demo;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import dev.pigeonhole.examples.demo.Options.StoreKind;
import dev.pigeonhole.jdbc.Schema;
import dev.pigeonhole.support.DatabaseServer;
import dev.pigeonhole.support.DuplicateRows;
import dev.pigeonhole.support.MariaDbServer;
import dev.pigeonhole.support.PostgresServer;
import dev.pigeonhole.support.TestDatabase;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Where the inbox and the ledger live: a file of H2, or a real server started for this run. */
final class Database implements AutoCloseable {

  private final String url;
  private final String user;
  private final String password;
  private final @Nullable DatabaseServer server;

  private Database(String url, String user, String password, @Nullable DatabaseServer server) {
    this.url = url;
    this.user = user;
    this.password = password;
    this.server = server;
  }

  static Database start(StoreKind kind, Path directory) {
    return switch (kind) {
      // By default H2 flushes half a second after the commit, and a kill loses what it confirmed.
      case H2 ->
          new Database(
              "jdbc:h2:file:"
                  + directory.resolve("inbox")
                  + ";WRITE_DELAY=0;DB_CLOSE_ON_EXIT=FALSE",
              "sa",
              "",
              null);
      case POSTGRES -> on(PostgresServer.start());
      case MARIADB -> on(MariaDbServer.start());
    };
  }

  private static Database on(DatabaseServer server) {
    TestDatabase schema = server.emptySchema();
    return new Database(schema.jdbcUrl(), schema.user(), schema.password(), server);
  }

  /** Creates the tables of the inbox, and the one that the transactional handler writes to. */
  void createTables() throws SQLException {
    try (HikariDataSource pool = pool(toArguments(), 1)) {
      Schema.migrate(pool);
    }
    try (Connection connection = connect();
        Statement statement = connection.createStatement()) {
      statement.execute(Handlers.LEDGER_TABLE);
    }
  }

  /** Creates the tables of the outbox, and the one in which the shop keeps its orders. */
  void createOutboxTables() throws SQLException {
    try (HikariDataSource pool = pool(toArguments(), 1)) {
      Schema.ofDefaults().prefix("pigeonhole_out_").applyTo(pool);
    }
    try (Connection connection = connect();
        Statement statement = connection.createStatement()) {
      statement.execute(Shop.ORDER_TABLE);
    }
  }

  /** Messages of which a handler has more than one row, in the tables of inbox and outbox. */
  List<String> duplicateRows() {
    return DuplicateRows.ofHandlerNumbers(TestDatabase.attach(url, user, password));
  }

  /** A plain connection for the checker. */
  Connection connect() throws SQLException {
    return DriverManager.getConnection(url, user, password);
  }

  /** What a worker process needs to connect. */
  List<String> toArguments() {
    return List.of(url, user, password);
  }

  /** The pool of a process; the arguments are those of {@link #toArguments}. */
  static HikariDataSource pool(List<String> arguments, int size) {
    HikariConfig config = new HikariConfig();
    config.setJdbcUrl(arguments.get(0));
    config.setUsername(arguments.get(1));
    config.setPassword(arguments.get(2));
    config.setMaximumPoolSize(size);
    return new HikariDataSource(config);
  }

  @Override
  public void close() {
    if (server != null) {
      server.close();
    }
  }
}
