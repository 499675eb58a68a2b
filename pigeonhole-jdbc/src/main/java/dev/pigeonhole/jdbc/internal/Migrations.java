package dev.pigeonhole.jdbc.internal;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.store.CrashPoints;
import dev.pigeonhole.store.StoreException;
import dev.pigeonhole.store.StoreException.Kind;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.locks.ReentrantLock;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/**
 * The versioned scripts in the jar, and bringing a database up to date with them. Every statement
 * can be run again, so a migration that was cut anywhere is finished by the next one.
 */
public final class Migrations {

  /**
   * One script.
   *
   * @param version from its name, V001 is 1
   * @param checksum of its text before names are filled in
   */
  record Script(int version, String name, String checksum, String text) {

    List<String> statements(Tables tables) {
      return split(text).stream().map(tables::sql).toList();
    }
  }

  private static final String FOLDER = "/pigeonhole/jdbc/schema/";
  private static final List<String> SCRIPTS = List.of("V001__tables.sql");

  /**
   * How long a migration waits for another one, and for a table that another session has locked.
   */
  private static final Duration LOCK_WAIT = Duration.ofSeconds(60);

  private static final int TRIES = 20;
  private static final String LIMIT_SESSION =
      "SET SESSION wait_timeout = %s, SESSION lock_wait_timeout = %s";

  /** An embedded database belongs to one process, so its migrations take turns here. */
  private static final ReentrantLock EMBEDDED = new ReentrantLock();

  /** Puts back what was changed on the connection. */
  @FunctionalInterface
  private interface Undo extends AutoCloseable {
    @Override
    void close() throws SQLException;
  }

  private final Dialect dialect;
  private final Tables tables;
  private final Duration lockWait;

  private Migrations(Dialect dialect, Tables tables, Duration lockWait) {
    this.dialect = dialect;
    this.tables = tables;
    this.lockWait = lockWait;
  }

  /** Brings the tables up to date; many processes may do so at once. */
  public static void migrate(DataSource dataSource, @Nullable String schema, String prefix) {
    migrate(dataSource, schema, prefix, LOCK_WAIT);
  }

  static void migrate(
      DataSource dataSource, @Nullable String schema, String prefix, Duration lockWait) {
    Connection opened;
    try {
      opened = dataSource.getConnection();
    } catch (SQLException e) {
      throw Errors.unreachable(e);
    }
    try (Connection connection = opened) {
      Dialect dialect = Dialect.of(connection.getMetaData().getDatabaseProductName());
      Tables tables = Tables.on(connection, dialect, schema, prefix);
      Migrations migrations = new Migrations(dialect, tables, lockWait);
      boolean autoCommit = connection.getAutoCommit();
      try {
        migrations.run(connection);
      } catch (SQLException e) {
        throw Errors.of(dialect, migrations.tables, e, false);
      } finally {
        restore(connection, autoCommit);
      }
    } catch (SQLException e) {
      throw Errors.unreachable(e);
    }
  }

  /** A connection that cannot be put back is broken, and the error of the migration tells why. */
  private static void restore(Connection connection, boolean autoCommit) throws SQLException {
    try {
      if (!connection.getAutoCommit()) {
        connection.rollback();
      }
      connection.setAutoCommit(autoCommit);
    } catch (SQLException e) {
      connection.abort(Runnable::run);
    }
  }

  /** All scripts of a dialect with real names in them, as one text to be run by hand. */
  public static String print(String dialectName, @Nullable String schema, String prefix) {
    Dialect dialect = Dialect.named(dialectName);
    Tables tables = new Tables(dialect.quote(), schema, prefix);
    StringBuilder text = new StringBuilder();
    text.append(tables.sql(resource(dialect, "history.sql")));
    for (Script script : scripts(dialect)) {
      text.append('\n').append(tables.sql(script.text()));
      text.append('\n').append(record(dialect, tables, script)).append(";\n");
    }
    return text.toString();
  }

  /** What the role that runs the inbox needs; it creates and alters nothing. */
  public static String grants(
      String dialectName, @Nullable String schema, String prefix, String role) {
    Dialect dialect = Dialect.named(dialectName);
    Tables tables = new Tables(dialect.quote(), schema, prefix);
    String grantee = dialect.grantee(role);
    StringBuilder text = new StringBuilder();
    for (String table : Tables.ALL) {
      String rights =
          switch (table) {
            case "schema_history" -> "SELECT";
            case "audit" -> "SELECT, INSERT";
            default -> "SELECT, INSERT, UPDATE, DELETE";
          };
      text.append("GRANT %s ON %s TO %s;\n".formatted(rights, tables.qualified(table), grantee));
    }
    for (String sequence : Tables.SEQUENCES) {
      text.append(dialect.grantSequence(tables.qualified(sequence), grantee));
    }
    return text.toString();
  }

  /** The scripts of a dialect, oldest first. */
  static List<Script> scripts(Dialect dialect) {
    return SCRIPTS.stream()
        .map(
            name -> {
              String text = resource(dialect, name);
              return new Script(Integer.parseInt(name.substring(1, 4)), name, checksum(text), text);
            })
        .toList();
  }

  /** Every statement that makes the tables of a dialect, before names are filled in. */
  static List<String> statements(Dialect dialect) {
    List<String> statements = new ArrayList<>(split(resource(dialect, "history.sql")));
    scripts(dialect).forEach(script -> statements.addAll(split(script.text())));
    return statements;
  }

  /** Version → checksum of what was applied here; empty if there are no tables. */
  static Map<Integer, String> applied(Session session) throws SQLException {
    Map<Integer, String> applied = new TreeMap<>();
    if (exists(session, "schema_history")) {
      session.query(
          "SELECT version, checksum FROM {schema_history}",
          params -> {},
          row -> applied.put(row.getInt(1), row.getString(2)));
    }
    return applied;
  }

  static boolean exists(Session session, String table) throws SQLException {
    DatabaseMetaData meta = session.connection.getMetaData();
    String schema = session.tables.schema();
    boolean catalogs = session.dialect.schemasAreCatalogs();
    try (ResultSet found =
        meta.getTables(
            catalogs ? schema : null,
            catalogs ? null : schema,
            session.tables.plain(table).replace("_", meta.getSearchStringEscape() + "_"),
            null)) {
      return found.next();
    }
  }

  private void run(Connection connection) throws SQLException {
    connection.setAutoCommit(true); // no snapshot is left behind that is older than the lock
    Session session = session(connection);
    if (!SchemaChecks.schemaExists(session)) {
      throw new StoreException(
          Kind.PERMANENT, ErrorCode.DATABASE_PRIVILEGE, SchemaChecks.noSchema(session), null);
    }
    switch (dialect.name()) {
      case "postgresql" -> inOneTransaction(connection);
      case "mariadb" -> underNamedLock(connection);
      default -> oneAfterTheOther(connection);
    }
  }

  /** DDL is part of the transaction, and so is the lock. */
  private void inOneTransaction(Connection connection) throws SQLException {
    connection.setAutoCommit(false);
    // First, because the lock may be granted to a client that is lost while it waits.
    dialect.limitSilence(connection, Silence.OF_THE_LIBRARY);
    try (Statement statement = connection.createStatement()) {
      statement.execute("SELECT " + PostgresDialect.atMost("lock_timeout", lockWait));
      long began = System.nanoTime();
      try {
        statement.execute("SELECT pg_advisory_xact_lock(hashtext('" + lockName() + "'))");
      } catch (SQLException e) {
        if (dialect.fault(e) == Fault.LOCK_TIMEOUT) {
          throw lockHeld(began, e);
        }
        throw e;
      }
      apply(connection, statement);
      connection.commit();
    }
  }

  /** DDL commits by itself, so the lock belongs to the session, and ends with it. */
  private void underNamedLock(Connection connection) throws SQLException {
    connection.setAutoCommit(true);
    try (Statement statement = connection.createStatement();
        Undo limits = limitSession(connection, statement);
        Undo lock = lock(statement)) {
      apply(connection, statement);
    }
  }

  /** Has the server end the session soon if its client falls silent. */
  private Undo limitSession(Connection connection, Statement statement) throws SQLException {
    String restore;
    try (ResultSet own = statement.executeQuery("SELECT @@wait_timeout, @@lock_wait_timeout")) {
      own.next();
      restore = LIMIT_SESSION.formatted(own.getString(1), own.getString(2));
    }
    Undo undo =
        () -> {
          try {
            statement.execute(restore);
          } catch (SQLException e) {
            connection.abort(Runnable::run); // no user of the pool may get it with our limits
            throw e;
          }
        };
    statement.execute(
        LIMIT_SESSION.formatted(
            "LEAST(@@wait_timeout, %d)".formatted(Silence.OF_THE_LIBRARY.toSeconds()),
            "LEAST(@@lock_wait_timeout, %d)".formatted(lockWait.toSeconds())));
    return undo;
  }

  private Undo lock(Statement statement) throws SQLException {
    long began = System.nanoTime();
    try (ResultSet got =
        statement.executeQuery(
            "SELECT GET_LOCK('%s', %d)".formatted(lockName(), lockWait.toSeconds()))) {
      got.next();
      if (got.getInt(1) != 1) {
        throw lockHeld(began, null);
      }
    }
    return () -> statement.execute("DO RELEASE_LOCK('" + lockName() + "')");
  }

  private String lockName() {
    return lockName(dialect, tables);
  }

  /** The name of the lock that the migrations of these tables share. */
  static String lockName(Dialect dialect, Tables tables) {
    String name = tables.qualified("");
    return dialect.schemasAreCatalogs()
        ? "pigeonhole." + checksum(name).substring(0, 32)
        : "pigeonhole " + name;
  }

  private StoreException lockHeld(long began, @Nullable SQLException e) {
    return new StoreException(
        Kind.TRANSIENT,
        ErrorCode.MIGRATION_LOCKED,
        ("The lock for migrations of the tables %s… was not free after %d s, and nothing was"
                + " changed. Wait until the other process has finished its migration, then start"
                + " again. If no process is migrating, end the session that holds the lock: %s")
            .formatted(
                tables.plain(""),
                Duration.ofNanos(System.nanoTime() - began).toSeconds(),
                dialect.holderOfMigrationLock(lockName())),
        e == null ? null : ServerWords.only(e));
  }

  private void oneAfterTheOther(Connection connection) throws SQLException {
    EMBEDDED.lock();
    try (Statement statement = connection.createStatement()) {
      connection.setAutoCommit(true);
      for (int attempt = 1; ; attempt++) {
        try {
          apply(connection, statement);
          return;
        } catch (SQLException e) {
          Fault fault = dialect.fault(e);
          boolean again = fault.passes() || fault == Fault.DUPLICATE;
          if (!again || attempt >= TRIES) {
            throw e;
          }
          Jdbc.backOff(attempt);
        }
      }
    } finally {
      EMBEDDED.unlock();
    }
  }

  private void apply(Connection connection, Statement statement) throws SQLException {
    for (String each : split(resource(dialect, "history.sql"))) {
      statement.execute(tables.sql(each));
      CrashPoints.reach("migrate.after-statement");
    }
    Map<Integer, String> applied = applied(session(connection));
    for (Script script : scripts(dialect)) {
      if (applied.containsKey(script.version())) {
        continue;
      }
      for (String each : script.statements(tables)) {
        statement.execute(each);
        CrashPoints.reach("migrate.after-statement");
      }
      statement.execute(record(dialect, tables, script));
      CrashPoints.reach("migrate.after-statement");
    }
  }

  private Session session(Connection connection) {
    return new Session(connection, dialect, tables, null, true, false, Session.LockWait.NORMAL);
  }

  private static String record(Dialect dialect, Tables tables, Script script) {
    return "INSERT INTO %s (version, applied_at, checksum, script) VALUES (%d, %s, '%s', '%s')"
        .formatted(
            tables.qualified("schema_history"),
            script.version(),
            dialect.now(),
            script.checksum(),
            script.name());
  }

  private static List<String> split(String text) {
    return Arrays.stream(text.split(";\\s*(\\n|$)"))
        .map(Migrations::withoutComments)
        .filter(statement -> !statement.isBlank())
        .toList();
  }

  private static String withoutComments(String statement) {
    return statement.replaceAll("(?m)^--.*$", "").strip();
  }

  private static String resource(Dialect dialect, String name) {
    String path = FOLDER + dialect.name() + "/" + name;
    try (InputStream in = Migrations.class.getResourceAsStream(path)) {
      if (in == null) {
        throw new IllegalStateException("The jar lacks " + path);
      }
      return new String(in.readAllBytes(), StandardCharsets.UTF_8);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static String checksum(String text) {
    try {
      byte[] digest =
          MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8));
      return HexFormat.of().formatHex(digest);
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException(e);
    }
  }
}
