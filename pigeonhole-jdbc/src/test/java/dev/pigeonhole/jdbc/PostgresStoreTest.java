package dev.pigeonhole.jdbc;

import dev.pigeonhole.support.DatabaseKind;

class PostgresStoreTest extends JdbcStoreContract {
  PostgresStoreTest() {
    super(DatabaseKind.POSTGRES);
  }
}
