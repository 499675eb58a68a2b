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
  private static final int LOCK_SECONDS = 60;
  private static final int TRIES = 20;

  /** An embedded database belongs to one process, so its migrations take turns here. */
  private static final ReentrantLock EMBEDDED = new ReentrantLock();

  private final Dialect dialect;
  private final Tables tables;

  private Migrations(Dialect dialect, Tables tables) {
    this.dialect = dialect;
    this.tables = tables;
  }

  /** Brings the tables up to date; many processes may do so at once. */
  public static void migrate(DataSource dataSource, @Nullable String schema, String prefix) {
    Connection opened;
    try {
      opened = dataSource.getConnection();
    } catch (SQLException e) {
      throw Errors.unreachable(e);
    }
    try (Connection connection = opened) {
      Dialect dialect = Dialect.of(connection.getMetaData().getDatabaseProductName());
      Tables tables = Tables.on(connection, dialect, schema, prefix);
      Migrations migrations = new Migrations(dialect, tables);
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

  private static void restore(Connection connection, boolean autoCommit) throws SQLException {
    if (!connection.getAutoCommit()) {
      connection.rollback();
    }
    connection.setAutoCommit(autoCommit);
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
    try (Statement statement = connection.createStatement()) {
      statement.execute(
          "SELECT pg_advisory_xact_lock(hashtext('pigeonhole " + tables.qualified("") + "'))");
      apply(connection, statement);
      connection.commit();
    }
  }

  /** DDL commits by itself, so the lock belongs to the session. */
  private void underNamedLock(Connection connection) throws SQLException {
    String name = "pigeonhole." + checksum(tables.qualified("")).substring(0, 32);
    connection.setAutoCommit(true);
    try (Statement statement = connection.createStatement()) {
      try (ResultSet got =
          statement.executeQuery("SELECT GET_LOCK('%s', %d)".formatted(name, LOCK_SECONDS))) {
        got.next();
        if (got.getInt(1) != 1) {
          throw new SQLException("Another migration holds the lock " + name, "HY000", 1205);
        }
      }
      try {
        apply(connection, statement);
      } finally {
        statement.execute("DO RELEASE_LOCK('" + name + "')");
      }
    }
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
