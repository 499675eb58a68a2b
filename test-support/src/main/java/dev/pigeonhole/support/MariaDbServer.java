package dev.pigeonhole.support;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A real MariaDB with the durability of production, its binary log included. */
public final class MariaDbServer extends LocalDatabaseServer {

  private static @Nullable MariaDbServer shared;

  private final MariaDbBinaries binaries;

  private MariaDbServer() {
    super("maria", Signal.TERM, Signal.KILL);
    this.binaries = MariaDbBinaries.wanted();
  }

  /** The one server of this JVM, started at the first call; closing it has no effect. */
  public static synchronized MariaDbServer shared() {
    if (shared == null) {
      shared = start();
      shared.keep();
    }
    return shared;
  }

  /** A server for tests that crash it, pause it or change its settings. */
  public static MariaDbServer start() {
    MariaDbServer server = new MariaDbServer();
    server.initialiseAndLaunch();
    return server;
  }

  @Override
  void initialise() {
    createTemporaryDirectory();
    List<String> install = new ArrayList<>();
    install.add(binaries.installer().toString());
    install.addAll(locations());
    install.add("--auth-root-authentication-method=normal");
    install.add("--skip-test-db");
    runToEnd(install);
  }

  @Override
  List<String> command() {
    List<String> server = new ArrayList<>();
    server.add(binaries.server().toString());
    server.addAll(locations());
    server.addAll(
        List.of(
            "--bind-address=127.0.0.1",
            "--port=" + port(),
            // Relative to the data directory, as the path of a socket ends at 107 bytes.
            "--socket=mariadb.sock",
            "--pid-file=mariadb.pid",
            "--skip-name-resolve",
            // 11.4 makes itself a certificate at every start, which takes ten seconds here.
            "--skip-ssl",
            // As packages set it; the built-in default of 10.11 is latin1.
            "--character-set-server=utf8mb4",
            "--max-connections=200",
            "--server-id=1",
            "--log-bin=binlog",
            "--binlog-format=ROW",
            // One of these is not the default: a MariaDB as installed may lose its binary log.
            "--innodb-flush-log-at-trx-commit=1",
            "--sync-binlog=1"));
    return server;
  }

  /** Its own: a MariaDB that starts removes the temporary tables of all others in its directory. */
  private Path temporary() {
    return home().resolve("tmp");
  }

  private void createTemporaryDirectory() {
    try {
      Files.createDirectories(temporary());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private List<String> locations() {
    List<String> options = new ArrayList<>();
    // First, or the programs refuse it: no file in /etc may change the settings.
    options.add("--no-defaults");
    options.add("--basedir=" + binaries.base());
    options.add("--datadir=" + data());
    options.add("--tmpdir=" + temporary());
    if (System.getProperty("user.name").equals("root")) {
      options.add("--user=root");
    }
    return options;
  }

  @Override
  public DatabaseKind kind() {
    return DatabaseKind.MARIADB;
  }

  @Override
  public String version() {
    return setting("version");
  }

  @Override
  public String setting(String name) {
    return ask("SHOW GLOBAL VARIABLES LIKE '" + name + "'", 2);
  }

  @Override
  public String jdbcUrl() {
    return jdbcUrl("");
  }

  @Override
  String jdbcUrl(String schema) {
    return "jdbc:mariadb://127.0.0.1:" + port() + "/" + schema;
  }

  @Override
  String createSchema(String schema) {
    return "CREATE DATABASE " + schema;
  }

  @Override
  String dropSchema(String schema) {
    return "DROP DATABASE " + schema;
  }

  @Override
  String structure(Connection connection, String schema) throws SQLException {
    List<String> parts = new ArrayList<>();
    for (String table : tables(connection, "%")) {
      parts.addAll(ServerSchemas.rows(connection, "SHOW CREATE TABLE `" + table + "`"));
    }
    parts.addAll(ServerSchemas.rows(connection, "SHOW TRIGGERS"));
    parts.addAll(
        ServerSchemas.rows(
            connection,
            "SELECT db, name, type, modified FROM mysql.proc WHERE db = DATABASE()"
                + " UNION ALL SELECT db, name, 'EVENT', modified FROM mysql.event"
                + " WHERE db = DATABASE()"
                + " UNION ALL SELECT db, user, host, 'RIGHTS' FROM mysql.db WHERE db = DATABASE()"
                + " UNION ALL SELECT db, user, table_name, table_priv FROM mysql.tables_priv"
                + " WHERE db = DATABASE()"));
    // The next number of a table is no part of its structure.
    return String.join("\n", parts).replaceAll(" AUTO_INCREMENT=\\d+", "");
  }

  @Override
  String otherSessions(String schema) {
    return "SELECT count(*) FROM information_schema.processlist WHERE db = '%s' AND id <> connection_id()"
        .formatted(schema);
  }

  @Override
  List<String> restartSequences(Connection connection) throws SQLException {
    return tables(connection, "SEQUENCE").stream()
        .map(sequence -> "ALTER SEQUENCE `" + sequence + "` RESTART")
        .toList();
  }

  private static List<String> tables(Connection connection, String type) throws SQLException {
    return ServerSchemas.rows(
        connection,
        "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE()"
            + " AND table_type LIKE '"
            + type
            + "' ORDER BY table_name");
  }

  @Override
  public String user() {
    return "root";
  }

  @Override
  public String password() {
    return "";
  }
}
