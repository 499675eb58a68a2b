package dev.pigeonhole.support;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
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
  public String user() {
    return "root";
  }

  @Override
  public String password() {
    return "";
  }
}
