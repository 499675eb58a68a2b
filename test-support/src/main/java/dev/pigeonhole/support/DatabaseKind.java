package dev.pigeonhole.support;

/** The databases that every store test runs against. */
public enum DatabaseKind {
  POSTGRES,
  MARIADB,
  H2;

  static DatabaseKind of(String jdbcUrl) {
    if (jdbcUrl.startsWith("jdbc:postgresql:")) {
      return POSTGRES;
    }
    if (jdbcUrl.startsWith("jdbc:mariadb:")) {
      return MARIADB;
    }
    if (jdbcUrl.startsWith("jdbc:h2:")) {
      return H2;
    }
    throw new IllegalArgumentException("Not a database of these tests: " + jdbcUrl);
  }
}
