package dev.pigeonhole.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.pigeonhole.store.Delivery;
import dev.pigeonhole.store.NewMessage;
import dev.pigeonhole.store.Outcome;
import dev.pigeonhole.store.SettleResult;
import dev.pigeonhole.store.Settlement;
import dev.pigeonhole.store.StoreException;
import dev.pigeonhole.store.StoreException.Kind;
import dev.pigeonhole.support.StatementCounter;
import dev.pigeonhole.support.TestDatabase;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Another session holds one row of a list, and the database rejects the outcome of another one. */
class LockedSettleTest {
  private Rig rig;
  private Delivery held;
  private Delivery free;
  private Delivery rejected;

  private void open(TestDatabase database) {
    rig = Rig.on(database);
    held = delivered(rig.message("held", rig.a));
    free = delivered(rig.message("free", rig.a));
    rejected = delivered(Rig.message("rejected", 7, "content", rig.a));
    rig.accept(rig.message("other", rig.b));
    database.execute("ALTER TABLE " + rig.table("poison") + " ADD CHECK (failures < 0)");
  }

  private Delivery delivered(NewMessage message) {
    List<Delivery> before = rig.open(rig.a, 10);
    rig.accept(message);
    return rig.open(rig.a, 10).stream()
        .filter(each -> !before.contains(each))
        .findAny()
        .orElseThrow();
  }

  private Connection holding(TestDatabase database) throws SQLException {
    Connection other = database.dataSource().getConnection();
    other.setTransactionIsolation(Connection.TRANSACTION_READ_COMMITTED); // rows, and no gaps
    other.setAutoCommit(false);
    try (PreparedStatement lock =
        other.prepareStatement(
            "SELECT seq FROM %s WHERE lane = ? AND handler = ? AND seq = ? FOR UPDATE"
                .formatted(rig.table("delivery")))) {
      lock.setInt(1, held.cell().lane());
      lock.setInt(2, held.cell().handler());
      lock.setLong(3, held.seq());
      lock.executeQuery();
    }
    return other;
  }

  private static Settlement completed(Delivery delivery) {
    return new Settlement(delivery, new Outcome.Completed());
  }

  private static Settlement poisoned(Delivery delivery) {
    return new Settlement(delivery, new Outcome.Poisoned(Rig.failure("broken"), true));
  }

  private Kind failureOf(Settlement... settlements) {
    return catchThrowableOfType(
            StoreException.class, () -> rig.store.deliveries().settle(List.of(settlements)))
        .kind();
  }

  /** The careful way takes more statements, on MariaDB several times more. */
  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#servers")
  void whileARowOfOneHandlerIsLockedOthersAreSettledAsUsual(TestDatabase database)
      throws SQLException {
    open(database);
    Delivery other = rig.open(rig.b, 10).get(0);
    StatementCounter counter = StatementCounter.on(database);
    Rig counted = Rig.on(database, counter.dataSource());
    try (Connection holder = holding(database)) {
      SettleResult first = counted.store.deliveries().settle(List.of(completed(held)));
      assertThat(first.locked()).containsExactly(held);

      int before = counter.statements().size();
      counted.store.deliveries().settle(List.of(completed(other)));
      assertThat(counter.statements().subList(before, counter.statements().size()))
          .noneMatch(each -> each.contains("SKIP LOCKED"));

      SettleResult both =
          counted.store.deliveries().settle(List.of(completed(held), completed(free)));
      assertThat(both.locked()).containsExactly(held);
      holder.rollback();
    }
    assertThat(rig.open(rig.b, 10)).isEmpty();
    assertThat(rig.open(rig.a, 10)).containsExactlyInAnyOrder(held, rejected);
  }

  /** What was recorded in the same list, and in another commit, is not reported as undone. */
  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#servers")
  void aRejectedOutcomeLeavesDoubtOnlyUntilThoseOfOtherHandlersAreRecorded(TestDatabase database)
      throws SQLException {
    open(database);
    Delivery other = rig.open(rig.b, 10).get(0);
    try (Connection holder = holding(database)) {
      rig.store.deliveries().settle(List.of(completed(held)));
      Settlement[] all = {completed(other), poisoned(rejected)};
      assertThat(failureOf(all)).isEqualTo(Kind.UNKNOWN);
      assertThat(failureOf(all)).isEqualTo(Kind.PERMANENT);
      holder.rollback();
    }
    assertThat(rig.open(rig.b, 10)).isEmpty();
    assertThat(rig.open(rig.a, 10)).containsExactlyInAnyOrder(held, free, rejected);
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#servers")
  void aRejectedOutcomeIsPermanentIfNothingElseWasRecorded(TestDatabase database)
      throws SQLException {
    open(database);
    try (Connection other = holding(database)) {
      assertThat(failureOf(completed(held), poisoned(rejected))).isEqualTo(Kind.PERMANENT);
      other.rollback();
    }
    assertThat(rig.open(rig.a, 10)).containsExactlyInAnyOrder(held, free, rejected);
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#servers")
  void aRejectedOutcomeLeavesDoubtOnlyUntilTheOthersAreRecorded(TestDatabase database)
      throws SQLException {
    open(database);
    try (Connection other = holding(database)) {
      Settlement[] all = {completed(held), completed(free), poisoned(rejected)};
      assertThat(failureOf(all)).isEqualTo(Kind.UNKNOWN);
      assertThat(failureOf(all)).isEqualTo(Kind.PERMANENT);
      other.rollback();
    }
    assertThat(rig.open(rig.a, 10)).containsExactlyInAnyOrder(held, rejected);
    assertThat(rig.count("receipt")).isOne();
  }
}
