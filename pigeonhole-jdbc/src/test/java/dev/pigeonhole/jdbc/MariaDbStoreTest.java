package dev.pigeonhole.jdbc;

import dev.pigeonhole.support.DatabaseKind;

class MariaDbStoreTest extends JdbcStoreContract {
  MariaDbStoreTest() {
    super(DatabaseKind.MARIADB);
  }
}
