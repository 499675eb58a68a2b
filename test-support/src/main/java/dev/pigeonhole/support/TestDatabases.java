package dev.pigeonhole.support;

import java.sql.SQLException;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * Fresh databases for parameterised tests. JUnit closes arguments that can be closed, so a test
 * only has to name the source: {@code @MethodSource("dev.pigeonhole.support.TestDatabases#all")}.
 */
public final class TestDatabases {

  private static @Nullable MariaDbServer second;

  private TestDatabases() {}

  /** One empty database of every kind. */
  public static List<TestDatabase> all() {
    return Arrays.stream(DatabaseKind.values()).map(TestDatabases::open).toList();
  }

  /** One empty database of every kind that has a server process. */
  public static List<TestDatabase> servers() {
    return List.of(open(DatabaseKind.POSTGRES), open(DatabaseKind.MARIADB));
  }

  /** An empty database on the shared server, or in a new H2 file. */
  public static TestDatabase open(DatabaseKind kind) {
    return kind == DatabaseKind.H2 ? H2Database.file() : server(kind).emptySchema();
  }

  /** The shared server of this kind; H2 has none. */
  public static DatabaseServer server(DatabaseKind kind) {
    return switch (kind) {
      case POSTGRES -> PostgresServer.shared();
      case MARIADB -> MariaDbServer.shared();
      case H2 -> throw new IllegalArgumentException("H2 runs inside this JVM");
    };
  }

  /**
   * An empty place of the same name in another database, so that qualified names of tables mean
   * others there.
   */
  public static TestDatabase twin(TestDatabase database) {
    String schema = database.schema();
    switch (database.kind()) {
      case POSTGRES -> {
        String name = "twin_of_" + schema.toLowerCase(Locale.ROOT);
        database.execute("CREATE DATABASE " + name);
        PostgresServer server = PostgresServer.shared();
        TestDatabase twin =
            new TestDatabase(
                database.user(),
                database.password(),
                new TestDatabase.Place(
                    schema,
                    database.jdbcUrl().replace("/postgres?", "/" + name + "?"),
                    () -> server.execute("DROP DATABASE " + name + " WITH (FORCE)")));
        twin.execute("CREATE SCHEMA " + schema);
        return twin;
      }
      case MARIADB -> {
        MariaDbServer server = second();
        try {
          server.execute(server.createSchema(schema));
        } catch (SQLException e) {
          throw new IllegalStateException("Cannot create " + schema, e);
        }
        return new TestDatabase(
            server.user(),
            server.password(),
            new TestDatabase.Place(
                schema, server.jdbcUrl(schema), () -> server.execute(server.dropSchema(schema))));
      }
      case H2 -> {
        return H2Database.file();
      }
    }
    throw new AssertionError(database.kind());
  }

  private static synchronized MariaDbServer second() {
    if (second == null) {
      second = MariaDbServer.start();
      second.keep();
    }
    return second;
  }

  /** A server of its own for a test that crashes or pauses it; H2 has none. */
  public static DatabaseServer startServer(DatabaseKind kind) {
    return switch (kind) {
      case POSTGRES -> PostgresServer.start();
      case MARIADB -> MariaDbServer.start();
      case H2 -> throw new IllegalArgumentException("H2 runs inside this JVM");
    };
  }
}
