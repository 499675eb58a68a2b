package dev.pigeonhole.support;

import java.util.Arrays;
import java.util.List;

/**
 * Fresh databases for parameterised tests. JUnit closes arguments that can be closed, so a test
 * only has to name the source: {@code @MethodSource("dev.pigeonhole.support.TestDatabases#all")}.
 */
public final class TestDatabases {

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

  /** A server of its own for a test that crashes or pauses it; H2 has none. */
  public static DatabaseServer startServer(DatabaseKind kind) {
    return switch (kind) {
      case POSTGRES -> PostgresServer.start();
      case MARIADB -> MariaDbServer.start();
      case H2 -> throw new IllegalArgumentException("H2 runs inside this JVM");
    };
  }
}
