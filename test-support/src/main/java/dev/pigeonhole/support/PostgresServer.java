package dev.pigeonhole.support;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
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
    Path empty =
        Binaries.cached(
            "cluster-" + unprivileged + "-" + binaries.getFileName(), this::createCluster);
    runToEnd(List.of("cp", "-a", empty.toString(), data().toString()));
    unprivileged.own(home());
  }

  /** Once per checkout: servers of tests are many, and to copy an empty cluster costs little. */
  private void createCluster(Path directory) {
    unprivileged.own(directory);
    runToEnd(
        unprivileged.command(
            binaries.resolve("bin/initdb").toString(),
            "--pgdata=" + directory,
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
    // The name is for those who ask which sessions a schema has.
    return jdbcUrl() + "?currentSchema=" + schema + "&ApplicationName=" + schema;
  }

  @Override
  String createSchema(String schema) {
    return "CREATE SCHEMA " + schema;
  }

  @Override
  String dropSchema(String schema) {
    return "DROP SCHEMA " + schema + " CASCADE";
  }

  /** Each change of an object is a new version of its row in the catalogue. */
  @Override
  String structure(Connection connection, String schema) throws SQLException {
    return ServerSchemas.rows(
            connection,
            """
            WITH space AS (SELECT oid, xmin FROM pg_namespace WHERE nspname = '%s'),
              class AS (SELECT c.oid, c.xmin FROM pg_class c, space s WHERE c.relnamespace = s.oid)
            SELECT md5(string_agg(one, ' ' ORDER BY one)) FROM (
              SELECT concat('s', oid, '/', xmin) FROM space
              UNION ALL SELECT concat('c', oid, '/', xmin) FROM class
              UNION ALL SELECT concat('a', a.attrelid, '.', a.attnum, '/', a.xmin)
                FROM pg_attribute a JOIN class ON class.oid = a.attrelid WHERE a.attnum > 0
              UNION ALL SELECT concat('d', d.oid, '/', d.xmin)
                FROM pg_attrdef d JOIN class ON class.oid = d.adrelid
              UNION ALL SELECT concat('t', t.oid, '/', t.xmin)
                FROM pg_trigger t JOIN class ON class.oid = t.tgrelid
              UNION ALL SELECT concat('q', q.seqrelid, '/', q.xmin)
                FROM pg_sequence q JOIN class ON class.oid = q.seqrelid
              UNION ALL SELECT concat('r', r.oid, '/', r.xmin)
                FROM pg_rewrite r JOIN class ON class.oid = r.ev_class
              UNION ALL SELECT concat('k', k.oid, '/', k.xmin)
                FROM pg_constraint k JOIN space s ON k.connamespace = s.oid
              UNION ALL SELECT concat('p', p.oid, '/', p.xmin)
                FROM pg_proc p JOIN space s ON p.pronamespace = s.oid
              UNION ALL SELECT concat('y', y.oid, '/', y.xmin)
                FROM pg_type y JOIN space s ON y.typnamespace = s.oid
            ) AS objects (one)
            """
                .formatted(schema))
        .get(0);
  }

  @Override
  String otherSessions(String schema) {
    return "SELECT count(*) FROM pg_stat_activity WHERE application_name = '%s' AND pid <> pg_backend_pid()"
        .formatted(schema);
  }

  @Override
  List<String> restartSequences(Connection connection) {
    return List.of(
        """
        SELECT setval(c.oid, q.seqstart, false)
        FROM pg_sequence q JOIN pg_class c ON c.oid = q.seqrelid
        WHERE c.relnamespace = current_schema::regnamespace
        """);
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
