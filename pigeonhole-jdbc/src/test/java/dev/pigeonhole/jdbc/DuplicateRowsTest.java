package dev.pigeonhole.jdbc;

import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.pigeonhole.store.Delivery;
import dev.pigeonhole.store.Outcome;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The check that closes every test on a database. */
class DuplicateRowsTest {

  @ParameterizedTest
  @EnumSource
  void aTestFailsIfADeliveryStandsBesideItsReceipt(DatabaseKind kind) {
    TestDatabase database = TestDatabases.open(kind);
    Rig rig = Rig.on(database);
    rig.accept(rig.message("m", rig.a, rig.b));
    plantReceipt(rig);

    assertThatThrownBy(database::close)
        .isInstanceOf(AssertionError.class)
        .hasMessageContaining("m: a in delivery, a in receipt");
  }

  @ParameterizedTest
  @EnumSource
  void tablesWithAnotherPrefixAreCheckedToo(DatabaseKind kind) {
    TestDatabase database = TestDatabases.open(kind);
    Schema.ofDefaults().prefix("other_").applyTo(database.dataSource());
    Rig rig = Rig.on(database);
    rig.accept(rig.message("m", rig.a, rig.b));
    plantReceipt(rig);
    for (String table : List.of("message", "handler", "delivery", "receipt")) {
      copy(rig, table);
    }
    database.execute("DELETE FROM " + rig.table("receipt"));

    assertThatThrownBy(database::close)
        .isInstanceOf(AssertionError.class)
        .hasMessageContaining("m: a in delivery, a in receipt");
  }

  @ParameterizedTest
  @EnumSource
  void rowsOfDifferentHandlersAreFine(DatabaseKind kind) {
    TestDatabase database = TestDatabases.open(kind);
    Rig rig = Rig.on(database);
    rig.accept(rig.message("m", rig.a, rig.b));
    rig.settle(rig.open(rig.a, 1), new Outcome.Completed());

    assertThatCode(database::close).doesNotThrowAnyException();
  }

  private static void copy(Rig rig, String table) {
    rig.database.execute(
        "INSERT INTO %s SELECT * FROM %s"
            .formatted(rig.table(table).replace("pigeonhole_", "other_"), rig.table(table)));
  }

  private static void plantReceipt(Rig rig) {
    Delivery delivery = rig.only(rig.a);
    rig.database.execute(
        "INSERT INTO %s (seq, handler, key_id, completed_at, failures, crashes, releases)"
                .formatted(rig.table("receipt"))
            + " VALUES (?, ?, ?, CURRENT_TIMESTAMP, 0, 0, 0)",
        delivery.seq(),
        delivery.cell().handler(),
        delivery.keyId());
  }
}
