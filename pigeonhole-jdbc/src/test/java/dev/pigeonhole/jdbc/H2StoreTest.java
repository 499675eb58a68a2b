package dev.pigeonhole.jdbc;

import dev.pigeonhole.support.DatabaseKind;

class H2StoreTest extends JdbcStoreContract {
  H2StoreTest() {
    super(DatabaseKind.H2);
  }
}
