package dev.pigeonhole.support;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/**
 * A real PostgreSQL with the durability of production. The version is the one on the class path;
 * {@code -Dpigeonhole.postgres=14} makes Maven put the oldest supported one there.
 */
public final class PostgresServer implements DatabaseServer {

  private static final Duration START_LIMIT = Duration.ofSeconds(60);
  private static final Duration STOP_LIMIT = Duration.ofSeconds(30);
  private static final int ATTEMPTS_TO_FIND_A_PORT = 5;

  private final Path binaries;
  private final Path home;
  private final Unprivileged unprivileged;
  private final Runnable cleanup = this::close;
  private int port;
  private @Nullable ServerProcess process;

  private PostgresServer(Unprivileged unprivileged) {
    this.binaries = PostgresBinaries.home();
    this.home = Scratch.directory("pg");
    this.unprivileged = unprivileged;
  }

  private static final class Shared {
    static final PostgresServer SERVER = start();
  }

  /** The one server of this JVM, started at the first call and never closed by a test. */
  public static PostgresServer shared() {
    return Shared.SERVER;
  }

  /** A server for tests that crash it, pause it or change its settings. */
  public static PostgresServer start() {
    return start(Unprivileged.here());
  }

  static PostgresServer start(Unprivileged unprivileged) {
    PostgresServer server = new PostgresServer(unprivileged);
    AtExit.add(server.cleanup);
    try {
      server.initialise();
      server.launchOnFreePort();
      server.checkVersion();
      return server;
    } catch (RuntimeException | AssertionError e) {
      server.close();
      throw e;
    }
  }

  private void initialise() {
    unprivileged.own(home);
    List<String> initdb =
        unprivileged.command(
            binaries.resolve("bin/initdb").toString(),
            "--pgdata=" + data(),
            "--username=" + user(),
            "--auth=trust",
            "--encoding=UTF8",
            "--no-locale",
            // Only the empty cluster is not flushed; everything a test writes later is.
            "--no-sync");
    try {
      Process process = new ProcessBuilder(initdb).redirectErrorStream(true).start();
      String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
      if (process.waitFor() != 0) {
        throw new IllegalStateException("initdb failed:\n" + output);
      }
    } catch (IOException e) {
      throw new UncheckedIOException("Cannot run initdb", e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("Interrupted during initdb", e);
    }
  }

  private void launchOnFreePort() {
    for (int attempt = 1; ; attempt++) {
      port = Ports.free();
      try {
        launch();
        return;
      } catch (IllegalStateException e) {
        // Most likely somebody else took the port between our look and the start.
        if (attempt == ATTEMPTS_TO_FIND_A_PORT) {
          throw e;
        }
      }
    }
  }

  private void launch() {
    List<String> postgres =
        unprivileged.command(
            binaries.resolve("bin/postgres").toString(),
            "-D",
            data().toString(),
            "-p",
            Integer.toString(port),
            "-c",
            "listen_addresses=127.0.0.1",
            "-c",
            "unix_socket_directories=",
            "-c",
            "max_connections=200",
            // The defaults, said aloud: a test of durability on a lax server proves nothing.
            "-c",
            "fsync=on",
            "-c",
            "full_page_writes=on",
            "-c",
            "synchronous_commit=on");
    ServerProcess started = ServerProcess.start(home, Signal.QUIT, postgres);
    process = started;
    Eventually.until("PostgreSQL to start", START_LIMIT, () -> answers(started));
    if (!started.isAlive()) {
      throw new IllegalStateException("PostgreSQL ended at once:\n" + started.logTail());
    }
  }

  /** True as well when the server has ended, as there is no use in waiting for it then. */
  private boolean answers(ServerProcess started) {
    if (!started.isAlive()) {
      return true;
    }
    try (Connection connection = dataSource().getConnection()) {
      return true;
    } catch (SQLException e) {
      return false;
    }
  }

  private void checkVersion() {
    String wanted = System.getProperty("pigeonhole.postgres", "");
    if (!wanted.isEmpty() && !version().startsWith(wanted + ".")) {
      throw new IllegalStateException(
          "pigeonhole.postgres asks for %s, but the class path holds PostgreSQL %s"
              .formatted(wanted, version()));
    }
  }

  @Override
  public DatabaseKind kind() {
    return DatabaseKind.POSTGRES;
  }

  @Override
  public String version() {
    return setting("server_version");
  }

  /** What {@code SHOW} says about a setting. */
  public String setting(String name) {
    try (Connection connection = dataSource().getConnection();
        Statement statement = connection.createStatement();
        ResultSet result = statement.executeQuery("SHOW " + name)) {
      result.next();
      return result.getString(1);
    } catch (SQLException e) {
      throw new IllegalStateException("Cannot read the setting " + name, e);
    }
  }

  @Override
  public int port() {
    return port;
  }

  @Override
  public String jdbcUrl() {
    return "jdbc:postgresql://127.0.0.1:" + port + "/postgres";
  }

  @Override
  public String user() {
    return "postgres";
  }

  /** The server trusts everybody on the loopback interface; this is here for completeness. */
  @Override
  public String password() {
    return "postgres";
  }

  @Override
  public DataSource dataSource() {
    return TestDatabase.plainDataSource(kind(), jdbcUrl(), user(), password());
  }

  @Override
  public TestDatabase emptySchema() {
    String schema = "t_" + UUID.randomUUID().toString().substring(0, 8);
    String url = jdbcUrl() + "?currentSchema=" + schema;
    try {
      execute("CREATE SCHEMA " + schema);
    } catch (SQLException e) {
      throw new IllegalStateException("Cannot create the schema " + schema, e);
    }
    return new TestDatabase(
        url, user(), password(), schema, () -> execute("DROP SCHEMA " + schema + " CASCADE"));
  }

  private void execute(String sql) throws SQLException {
    try (Connection connection = dataSource().getConnection();
        Statement statement = connection.createStatement()) {
      statement.execute(sql);
    }
  }

  @Override
  public synchronized void stopFast() {
    ServerProcess running = running();
    running.signal(Signal.INT);
    running.awaitExit(STOP_LIMIT);
  }

  @Override
  public synchronized void crash() {
    running().killTree();
  }

  @Override
  public synchronized void restart() {
    if (running().isAlive()) {
      crash();
    }
    launch();
  }

  @Override
  public synchronized void pause() {
    running().pause();
  }

  @Override
  public synchronized void resume() {
    running().resume();
  }

  @Override
  public synchronized void close() {
    AtExit.remove(cleanup);
    if (process != null && process.isAlive()) {
      process.killTree();
    }
    if (Files.exists(home)) {
      Scratch.delete(home);
    }
  }

  private ServerProcess running() {
    if (process == null) {
      throw new IllegalStateException("The server was never started");
    }
    return process;
  }

  private Path data() {
    return home.resolve("data");
  }
}
