package dev.pigeonhole.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import dev.pigeonhole.Guard;
import dev.pigeonhole.store.AcceptResult;
import dev.pigeonhole.store.Delivery;
import dev.pigeonhole.store.NewMessage;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.StatementCounter;
import dev.pigeonhole.support.TestDatabase;
import java.io.IOException;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Batches are cheap because they are few round trips, the commit included. */
class RoundTripTest {

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#servers")
  void fiveHundredMessagesAreAcceptedAndSettledInAtMostThreeTripsEach(TestDatabase database) {
    InboxTables.in(database);
    try (HikariDataSource pool = pool(database)) {
      StatementCounter counter = StatementCounter.on(database, pool);
      Rig rig = Rig.on(database, counter.dataSource());
      rig.accept(rig.message("warm-up", rig.a, rig.b));
      rig.complete(rig.open(rig.a, 10));
      List<NewMessage> messages = rig.messages("m-", 500, rig.a, rig.b);

      counter.reset();
      List<AcceptResult> results = rig.store.acceptor().accept(messages);
      assertThat(counter.roundTrips()).as("%s", counter.statements()).isLessThanOrEqualTo(3);
      assertThat(results).hasSize(500).allMatch(each -> each instanceof AcceptResult.Stored);

      List<Delivery> open = rig.open(rig.a, 1000);
      counter.reset();
      assertThat(rig.complete(open)).isEmpty();
      assertThat(open).hasSize(500);
      assertThat(counter.roundTrips()).as("%s", counter.statements()).isLessThanOrEqualTo(3);

      counter.reset();
      rig.store.deliveries().load(open.stream().map(Delivery::seq).toList());
      // On MariaDB the pool has no autocommit mode: the read ends with a rollback.
      assertThat(counter.roundTrips()).as("%s", counter.statements()).isLessThanOrEqualTo(2);
    }
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#servers")
  void guardedRunsTakeAsManyTripsAsTheDocumentationSays(TestDatabase database) throws SQLException {
    InboxTables.in(database);
    boolean postgres = database.kind() == DatabaseKind.POSTGRES;
    try (HikariDataSource pool = pool(database)) {
      StatementCounter counter = StatementCounter.on(database, pool);
      try (Guard guard =
              Guard.on(JdbcStore.of(counter.dataSource())).keepReceiptsForEver().build();
          Connection mine = counter.dataSource().getConnection()) {
        mine.setAutoCommit(false);
        guard.run(GuardRig.key("warm-up"), tx -> 1); // registers the handler
        guard.run(mine, GuardRig.key("warm-up"), tx -> 1); // checks where the connection leads to
        mine.rollback();

        assertTrips(counter, postgres ? 2 : 6, () -> guard.run(GuardRig.key("k-1"), tx -> 1));
        assertTrips(counter, 5, () -> guard.run(GuardRig.key("k-1"), tx -> 2));
        assertTrips(
            counter,
            postgres ? 3 : 7,
            () -> guard.answer(GuardRig.key("k-2"), String.class, tx -> "answer"));
        assertTrips(counter, postgres ? 4 : 7, () -> guard.run(mine, GuardRig.key("k-3"), tx -> 1));
        mine.commit();
        assertTrips(counter, 8, () -> guard.run(mine, GuardRig.key("k-3"), tx -> 2));
        mine.rollback();
        try (Guard keeping =
            Guard.on(JdbcStore.of(counter.dataSource()))
                .keepReceiptsForEver()
                .keepFailures(IOException.class)
                .build()) {
          keeping.run(GuardRig.key("warm-up"), tx -> 1);
          assertTrips(counter, postgres ? 3 : 7, () -> keeping.run(GuardRig.key("k-4"), tx -> 1));
        }
      }
    }
  }

  private static void assertTrips(StatementCounter counter, int trips, Runnable call) {
    counter.reset();
    call.run();
    assertThat(counter.roundTrips()).as("%s", counter.statements()).isEqualTo(trips);
  }

  /**
   * As the documentation recommends it: READ COMMITTED, and on MariaDB no autocommit and a limit
   * for transactions whose client is silent.
   */
  private static HikariDataSource pool(TestDatabase database) {
    return pool(database, database.kind() != DatabaseKind.MARIADB);
  }

  private static HikariDataSource pool(TestDatabase database, boolean autoCommit) {
    HikariConfig config = new HikariConfig();
    config.setDataSource(database.dataSource());
    config.setMaximumPoolSize(5);
    config.setTransactionIsolation("TRANSACTION_READ_COMMITTED");
    config.setAutoCommit(autoCommit);
    if (database.kind() == DatabaseKind.MARIADB) {
      config.setConnectionInitSql("SET SESSION idle_transaction_timeout = 60");
    }
    return new HikariDataSource(config);
  }
}
