package dev.pigeonhole.jdbc;

import dev.pigeonhole.support.DatabaseKind;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;

/** Always at small size: races are judged on servers, and H2 ends one transaction at a time. */
class H2StoreTest extends JdbcStoreContract {
  private static final String SIZE = "pigeonhole.size";
  private static final String WANTED = System.getProperty(SIZE, "small");

  H2StoreTest() {
    super(DatabaseKind.H2);
  }

  @BeforeAll
  static void beSmall() {
    System.setProperty(SIZE, "small");
  }

  @AfterAll
  static void beAsWanted() {
    System.setProperty(SIZE, WANTED);
  }
}
