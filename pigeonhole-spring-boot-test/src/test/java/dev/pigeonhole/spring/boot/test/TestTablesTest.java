package dev.pigeonhole.spring.boot.test;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.jdbc.Schema;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class TestTablesTest {

  /** A table that a later version brings has to be one or the other. */
  @Test
  void everyTableIsEitherEmptiedOrKept() throws SQLException {
    try (TestDatabase database = TestDatabases.open(DatabaseKind.H2)) {
      Schema.ofDefaults().prefix(TestTables.PREFIX).applyTo(database.dataSource());
      List<String> tables = new ArrayList<>();
      try (Connection connection = database.dataSource().getConnection();
          ResultSet found =
              connection
                  .getMetaData()
                  .getTables(null, connection.getSchema(), TestTables.PREFIX + "%", null)) {
        while (found.next()) {
          tables.add(found.getString("TABLE_NAME").substring(TestTables.PREFIX.length()));
        }
      }
      assertThat(tables)
          .containsExactlyInAnyOrderElementsOf(
              Stream.concat(TestTables.EMPTIED.stream(), TestTables.KEPT.stream()).toList());
    }
  }

  @Test
  void everyNameOfAnInboxMakesTablesOfItsOwn() {
    String first = TestTables.wordFor("parcels-of-the-first-warehouse");
    String second = TestTables.wordFor("parcels-of-the-second-warehouse");

    assertThat(TestTables.wordFor("order-events")).isEqualTo("order_events_");
    assertThat(first).isNotEqualTo(second);
    // Refuses what is too long, and what is not a plain name.
    Schema.ofDefaults().prefix(TestTables.PREFIX + first + "out_");
    Schema.ofDefaults().prefix(TestTables.PREFIX + TestTables.wordFor("a".repeat(20)) + "out_");
  }
}
