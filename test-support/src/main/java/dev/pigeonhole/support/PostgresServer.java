package dev.pigeonhole.support;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A real PostgreSQL with the durability of production. The version is the one on the class path;
 * {@code -Dpigeonhole.postgres=14} makes Maven put the oldest supported one there.
 */
public final class PostgresServer extends LocalDatabaseServer {

  private static @Nullable PostgresServer shared;

  private final Path binaries;
  private final Unprivileged unprivileged;
  private final Map<String, String> settings;
  private final @Nullable PostgresServer primary;

  private PostgresServer(
      Unprivileged unprivileged, Map<String, String> settings, @Nullable PostgresServer primary) {
    // SIGINT is the fast shutdown, SIGQUIT the immediate one that takes the backends along.
    super("pg", Signal.INT, Signal.QUIT);
    this.binaries = PostgresBinaries.home();
    this.unprivileged = unprivileged;
    this.settings = settings;
    this.primary = primary;
  }

  /** The one server of this JVM, started at the first call; closing it has no effect. */
  public static synchronized PostgresServer shared() {
    if (shared == null) {
      shared = start();
      shared.keep();
    }
    return shared;
  }

  /** A server for tests that crash it, pause it or change its settings. */
  public static PostgresServer start() {
    return start(Map.of());
  }

  /** A server with settings of its own, such as more memory; what makes it durable stays. */
  public static PostgresServer start(Map<String, String> settings) {
    return start(Unprivileged.here(), settings);
  }

  static PostgresServer start(Unprivileged unprivileged, Map<String, String> settings) {
    PostgresServer server = new PostgresServer(unprivileged, settings, null);
    server.initialiseAndLaunch();
    server.checkVersion();
    return server;
  }

  /**
   * Starts a copy of this server that follows it by asynchronous streaming and answers queries.
   *
   * @param link a proxy to this server: while it lets nothing through, the copy falls behind
   */
  public PostgresServer standby(FaultProxy link) {
    Map<String, String> following = new HashMap<>(settings);
    following.put(
        "primary_conninfo", "host=127.0.0.1 port=%d user=%s".formatted(link.port(), user()));
    PostgresServer standby = new PostgresServer(unprivileged, following, this);
    standby.initialiseAndLaunch();
    return standby;
  }

  /** Waits until this standby has received and replayed all that the server has written so far. */
  public void awaitCaughtUpWith(PostgresServer server) {
    String written = server.ask("SELECT pg_current_wal_lsn()", 1);
    Eventually.until(
        "the standby to catch up",
        Duration.ofMinutes(3),
        () -> ask("SELECT pg_last_wal_replay_lsn() >= '" + written + "'", 1).equals("t"));
  }

  /** Makes a primary of this standby, with what it has received. */
  public void promote() {
    if (!ask("SELECT pg_promote(true, 180)", 1).equals("t")) {
      throw new IllegalStateException("The standby was not promoted");
    }
  }

  @Override
  void initialise() {
    if (primary != null) {
      PostgresBackup.take(primary, data());
      unprivileged.own(home());
      return;
    }
    unprivileged.own(home());
    runToEnd(
        unprivileged.command(
            binaries.resolve("bin/initdb").toString(),
            "--pgdata=" + data(),
            "--username=" + user(),
            "--auth=trust",
            "--encoding=UTF8",
            "--no-locale",
            // Only the empty cluster is not flushed; everything a test writes later is.
            "--no-sync"));
  }

  @Override
  List<String> command() {
    List<String> command = new ArrayList<>();
    command.add(binaries.resolve("bin/postgres").toString());
    command.add("-D" + data());
    command.add("-p" + port());
    command.add("-clisten_addresses=127.0.0.1");
    command.add("-cunix_socket_directories=");
    command.add("-cmax_connections=200");
    // In a file of its own, which goes with its directory however the server ends.
    command.add("-cdynamic_shared_memory_type=mmap");
    settings.forEach((name, value) -> command.add("-c" + name + "=" + value));
    // The defaults, said aloud: a test of durability on a lax server proves nothing. The last wins.
    command.add("-cfsync=on");
    command.add("-cfull_page_writes=on");
    command.add("-csynchronous_commit=on");
    return unprivileged.command(command.toArray(String[]::new));
  }

  /** Each connection is served by a process of its own. */
  @Override
  boolean answersThroughChildren() {
    return true;
  }

  private void checkVersion() {
    String wanted = System.getProperty("pigeonhole.postgres", "");
    String found = version();
    if (!wanted.isEmpty() && !found.startsWith(wanted + ".")) {
      close();
      throw new IllegalStateException(
          "pigeonhole.postgres asks for %s, but the class path holds PostgreSQL %s"
              .formatted(wanted, found));
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

  @Override
  public String setting(String name) {
    return ask("SHOW " + name, 1);
  }

  @Override
  public String jdbcUrl() {
    return "jdbc:postgresql://127.0.0.1:" + port() + "/postgres";
  }

  @Override
  String jdbcUrl(String schema) {
    return jdbcUrl() + "?currentSchema=" + schema;
  }

  @Override
  String createSchema(String schema) {
    return "CREATE SCHEMA " + schema;
  }

  @Override
  String dropSchema(String schema) {
    return "DROP SCHEMA " + schema + " CASCADE";
  }

  @Override
  public String user() {
    return "postgres";
  }

  /** The server trusts everybody on the loopback interface, whatever the password. */
  @Override
  public String password() {
    return "postgres";
  }
}
