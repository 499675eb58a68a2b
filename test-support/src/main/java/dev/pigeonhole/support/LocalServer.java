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

/** What both servers share: one home directory, one port, and one process after another. */
abstract class LocalServer implements DatabaseServer {

  private static final Duration START_LIMIT = Duration.ofSeconds(60);
  private static final Duration STOP_LIMIT = Duration.ofSeconds(30);
  private static final int ATTEMPTS_TO_FIND_A_PORT = 5;

  private final Path home;
  private final Signal stop;
  private final Signal whenOrphaned;
  private final Runnable cleanup = this::destroy;
  private volatile boolean shared;
  private volatile int port;
  private @Nullable ServerProcess process;

  LocalServer(String name, Signal stop, Signal whenOrphaned) {
    this.home = Scratch.directory(name);
    this.stop = stop;
    this.whenOrphaned = whenOrphaned;
  }

  /** Creates the data directory. */
  abstract void initialise();

  /** The server in the foreground, on the current port. */
  abstract List<String> command();

  /** The statement that creates, and the one that drops, a place for tables. */
  abstract String createSchema(String schema);

  abstract String dropSchema(String schema);

  abstract String jdbcUrl(String schema);

  final void initialiseAndLaunch() {
    AtExit.add(cleanup);
    try {
      initialise();
      launchOnFreePort();
    } catch (RuntimeException | AssertionError e) {
      destroy();
      throw e;
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
    ServerProcess started = ServerProcess.start(home, whenOrphaned, command());
    process = started;
    Eventually.until(kind() + " to start", START_LIMIT, () -> answersOrEnded(started));
    if (!started.isAlive()) {
      throw new IllegalStateException(kind() + " ended at once:\n" + started.logTail());
    }
  }

  private boolean answersOrEnded(ServerProcess started) {
    if (!started.isAlive()) {
      return true;
    }
    try (Connection connection = dataSource().getConnection()) {
      return connection.isValid(1);
    } catch (SQLException e) {
      return false;
    }
  }

  /** Runs a program that prepares the data directory. */
  static void runToEnd(List<String> command) {
    try {
      Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
      process.getOutputStream().close();
      String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
      if (process.waitFor() != 0) {
        throw new IllegalStateException(String.join(" ", command) + " failed:\n" + output);
      }
    } catch (IOException e) {
      throw new UncheckedIOException("Cannot run " + command.get(0), e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("Interrupted while running " + command.get(0), e);
    }
  }

  final Path home() {
    return home;
  }

  final Path data() {
    return home.resolve("data");
  }

  @Override
  public final synchronized long pid() {
    return latest().pid();
  }

  @Override
  public final int port() {
    return port;
  }

  @Override
  public final DataSource dataSource() {
    return TestDatabase.plainDataSource(kind(), jdbcUrl(), user(), password());
  }

  @Override
  public final TestDatabase emptySchema() {
    String schema = "t_" + UUID.randomUUID().toString().substring(0, 8);
    try {
      execute(createSchema(schema));
    } catch (SQLException e) {
      throw new IllegalStateException("Cannot create the schema " + schema, e);
    }
    return new TestDatabase(
        jdbcUrl(schema), user(), password(), schema, () -> execute(dropSchema(schema)));
  }

  private void execute(String sql) throws SQLException {
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

  @Override
  public final synchronized void stopFast() {
    ServerProcess running = latest();
    running.signal(stop);
    running.awaitExit(STOP_LIMIT);
  }

  @Override
  public final synchronized void crash() {
    latest().killTree();
  }

  @Override
  public final synchronized void restart() {
    if (latest().isAlive()) {
      crash();
    }
    launch();
  }

  @Override
  public final synchronized void pause() {
    latest().pause();
  }

  @Override
  public final synchronized void resume() {
    latest().resume();
  }

  /** From now on only the end of the JVM ends the server. */
  final void keep() {
    shared = true;
  }

  /** Does nothing to a shared server: JUnit closes every argument of a test that it can close. */
  @Override
  public final void close() {
    if (!shared) {
      destroy();
    }
  }

  private synchronized void destroy() {
    AtExit.remove(cleanup);
    if (process != null && process.isAlive()) {
      process.killTree();
    }
    if (Files.exists(home)) {
      Scratch.delete(home);
    }
  }

  @Override
  public final String toString() {
    return kind() + " on port " + port;
  }

  private ServerProcess latest() {
    if (process == null) {
      throw new IllegalStateException("The server was never started");
    }
    return process;
  }
}
