package dev.pigeonhole.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import dev.pigeonhole.Guard;
import dev.pigeonhole.GuardBuilder;
import dev.pigeonhole.GuardKey;
import dev.pigeonhole.Guarded;
import dev.pigeonhole.event.InboxEvent;
import dev.pigeonhole.store.StoreException;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.DuplicateRows;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Eight copies of each key at once: the body runs once for each, whoever is first. */
class GuardRaceTest {
  private static final int COPIES = 8;

  /** Enough where no luck is needed to see what is wrong. */
  private static final int FEW = 25;

  private static GuardRig rig(DatabaseKind kind) {
    return GuardRig.on(TestDatabases.open(kind), GuardRaceTest::patient);
  }

  /** None of the copies may be told that the key is busy, however slow the machine is. */
  private static GuardBuilder patient(GuardBuilder options) {
    return options.waitAtMost(Duration.ofSeconds(20));
  }

  /** On MariaDB at its default isolation, deleting what is not there locks where it could be. */
  @ParameterizedTest
  @EnumSource(names = {"POSTGRES", "MARIADB"})
  void answersOfDifferentKeysDoNotWaitForEachOther(DatabaseKind kind) throws Exception {
    try (GuardRig rig = rig(kind);
        Connection one = rig.begin();
        Connection other = rig.begin()) {
      one.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
      other.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
      Guard hasty = rig.guard.waitingAtMost(Duration.ofSeconds(1));

      assertThat(hasty.answer(one, GuardRig.key("k-1"), String.class, tx -> "one"))
          .isEqualTo(new Guarded.Ran<>("one"));
      assertThat(hasty.answer(other, GuardRig.key("k-2"), String.class, tx -> "other"))
          .isEqualTo(new Guarded.Ran<>("other"));
      other.commit();
      one.commit();
      assertThat(rig.count("answer")).isEqualTo(2);
    }
  }

  @ParameterizedTest
  @EnumSource(names = {"POSTGRES", "MARIADB"})
  void b39_id15_id16_m1_v3_t2_t16_copiesAtOnceRunTheBodyOnce(DatabaseKind kind) throws Exception {
    int keys = Size.of(200, 2_000);
    try (GuardRig rig = rig(kind)) {
      AtomicInteger runs = new AtomicInteger();
      List<Guarded<Integer>> results =
          race(
              keys,
              id ->
                  rig.guard.run(
                      GuardRig.key(id),
                      tx -> {
                        GuardRig.write(tx, id);
                        return runs.incrementAndGet();
                      }));

      assertThat(runs).as("the body ran").hasValue(keys);
      assertThat(results).hasSize(keys * COPIES);
      assertThat(results.stream().filter(Guarded.Ran.class::isInstance)).hasSize(keys);
      assertThat(results.stream().filter(Guarded.Repeat.class::isInstance))
          .hasSize(keys * (COPIES - 1));
      assertOneEffectEach(rig, keys);
    }
  }

  @ParameterizedTest
  @CsvSource({
    "POSTGRES, 2",
    "POSTGRES, 4",
    "MARIADB, 2",
    "MARIADB, 4",
  })
  void b39_id16_copiesInTransactionsOfTheirCallersRunTheBodyOnce(DatabaseKind kind, int isolation)
      throws Exception {
    int keys = Size.of(100, 2_000);
    try (GuardRig rig = rig(kind)) {
      AtomicInteger runs = new AtomicInteger();
      List<Guarded<Integer>> results = raceOfCallers(rig, rig.database, isolation, keys, runs);

      assertThat(runs).as("the body ran").hasValue(keys);
      assertThat(results.stream().filter(Guarded.Ran.class::isInstance)).hasSize(keys);
      assertThat(results.stream().filter(Guarded.Repeat.class::isInstance))
          .hasSize(keys * (COPIES - 1));
      assertOneEffectEach(rig, keys);
    }
  }

  /** They lock the message alone; from a lock that they share, none of them could come to that. */
  @ParameterizedTest
  @EnumSource(names = {"POSTGRES", "MARIADB"})
  void copiesForAHandlerThatWasTwoLeaveTheTransactionsOfTheirCallersUsable(DatabaseKind kind)
      throws Exception {
    try (GuardRig rig = rig(kind)) {
      rig.guard.run(GuardKey.of("v1", "charge", "before"), tx -> 1);
      rig.guard.run(GuardKey.of("v2", "charge", "before"), tx -> 1);
      AtomicInteger runs = new AtomicInteger();
      List<Guarded<Integer>> results =
          race(
              FEW,
              id -> {
                try (Connection caller =
                    connection(rig.database, Connection.TRANSACTION_READ_COMMITTED)) {
                  GuardKey key = GuardKey.of("v3", "charge", id).formerly("v2", "v1");
                  Guarded<Integer> result =
                      rig.guard.run(caller, key, tx -> runs.incrementAndGet());
                  caller.commit();
                  return result;
                }
              });

      assertThat(runs).hasValue(FEW);
      assertThat(results.stream().filter(Guarded.Repeat.class::isInstance))
          .hasSize(FEW * (COPIES - 1));
    }
  }

  /** With the receipt behind the body, a copy would meet the first in here. */
  @ParameterizedTest
  @EnumSource(names = {"POSTGRES", "MARIADB"})
  void v4_noCopyRunsIntoAUniqueKeyOfItsOwnBusiness(DatabaseKind kind) throws Exception {
    try (GuardRig rig = rig(kind)) {
      rig.database.execute("CREATE UNIQUE INDEX effect_once ON effect (id)");
      race(FEW, id -> writing(rig, id));

      assertOneEffectEach(rig, FEW);
      assertThat(rig.counts.of(InboxEvent.GuardFailed.class)).isZero();
    }
  }

  /** A guard makes its own transactions READ COMMITTED, whatever the pool says. */
  @ParameterizedTest
  @CsvSource({
    "POSTGRES, TRANSACTION_REPEATABLE_READ",
    "POSTGRES, TRANSACTION_SERIALIZABLE",
    "MARIADB, TRANSACTION_REPEATABLE_READ",
    "MARIADB, TRANSACTION_SERIALIZABLE",
  })
  void pg08_copiesAtOnceRunTheBodyOnceWhateverThePoolsIsolation(DatabaseKind kind, String level)
      throws Exception {
    HikariConfig config = new HikariConfig();
    config.setMaximumPoolSize(COPIES + 1);
    config.setTransactionIsolation(level);
    try (GuardRig rig = rig(kind)) {
      config.setDataSource(rig.database.dataSource());
      try (HikariDataSource pool = new HikariDataSource(config);
          Guard guard = rig.through(pool, GuardRaceTest::patient).guard) {
        AtomicInteger runs = new AtomicInteger();
        race(
            FEW,
            id ->
                guard.run(
                    GuardRig.key(id),
                    tx -> {
                      GuardRig.write(tx, id);
                      assertThat(tx.connection().getTransactionIsolation())
                          .isEqualTo(Connection.TRANSACTION_READ_COMMITTED);
                      return runs.incrementAndGet();
                    }));
        assertThat(runs).hasValue(FEW);
      }
      assertOneEffectEach(rig, FEW);
    }
  }

  /** Then reading for a change what has changed since the snapshot is error 1020. */
  @Test
  void my09_copiesAtOnceRunTheBodyOnceWhereSnapshotsAreStrict() throws Exception {
    try (GuardRig rig = rig(DatabaseKind.MARIADB)) {
      TestDatabase strict = rig.database.with("sessionVariables", "innodb_snapshot_isolation=1");
      AtomicInteger runs = new AtomicInteger();
      raceOfCallers(rig, strict, Connection.TRANSACTION_REPEATABLE_READ, FEW, runs);

      assertThat(runs).hasValue(FEW);
      assertOneEffectEach(rig, FEW);
    }
  }

  private static Guarded<Integer> writing(GuardRig rig, String id) throws SQLException {
    return rig.guard.run(
        GuardRig.key(id),
        tx -> {
          GuardRig.write(tx, id);
          return 1;
        });
  }

  /** Each on its own connection, in a transaction of its own. */
  private static List<Guarded<Integer>> raceOfCallers(
      GuardRig rig, TestDatabase database, int isolation, int keys, AtomicInteger runs)
      throws Exception {
    List<Connection> opened = new CopyOnWriteArrayList<>();
    ThreadLocal<Connection> own =
        ThreadLocal.withInitial(
            () -> {
              Connection connection = connection(database, isolation);
              opened.add(connection);
              return connection;
            });
    try {
      return race(keys, id -> joined(rig, own.get(), id, runs));
    } finally {
      for (Connection each : opened) {
        each.close(); // or what a caller that failed has left open keeps its tables
      }
    }
  }

  /** As a caller does it: read something, run, commit; and all of it again when told so. */
  private static Guarded<Integer> joined(
      GuardRig rig, Connection connection, String id, AtomicInteger runs) throws SQLException {
    for (int attempt = 1; ; attempt++) {
      try {
        try (PreparedStatement look = connection.prepareStatement("SELECT COUNT(*) FROM effect")) {
          look.executeQuery().close(); // takes the snapshot before anything else happens
        }
        Guarded<Integer> result =
            rig.guard.run(
                connection,
                GuardRig.key(id),
                tx -> {
                  GuardRig.write(tx, id);
                  return runs.incrementAndGet();
                });
        connection.commit();
        return result;
      } catch (StoreException e) {
        connection.rollback();
        if (e.kind() != StoreException.Kind.TRANSIENT || attempt == 10_000) {
          throw e;
        }
        Thread.yield(); // where snapshots are strict, nobody waits for the first
      }
    }
  }

  private static Connection connection(TestDatabase database, int isolation) {
    try {
      Connection connection = database.dataSource().getConnection();
      connection.setTransactionIsolation(isolation);
      connection.setAutoCommit(false);
      return connection;
    } catch (SQLException e) {
      throw new IllegalStateException(e);
    }
  }

  private interface Copy {
    Guarded<Integer> run(String id) throws Exception;
  }

  private static List<Guarded<Integer>> race(int keys, Copy copy) throws Exception {
    ExecutorService threads = Executors.newFixedThreadPool(COPIES);
    CyclicBarrier together = new CyclicBarrier(COPIES);
    Callable<List<Guarded<Integer>>> all =
        () -> {
          List<Guarded<Integer>> results = new ArrayList<>();
          for (int i = 0; i < keys; i++) {
            together.await(300, TimeUnit.SECONDS); // or one that failed would leave the others
            results.add(copy.run("k-" + i));
          }
          return results;
        };
    try {
      List<Future<List<Guarded<Integer>>>> futures = new ArrayList<>();
      for (int i = 0; i < COPIES; i++) {
        futures.add(threads.submit(all));
      }
      List<Guarded<Integer>> results = new ArrayList<>();
      for (Future<List<Guarded<Integer>>> each : futures) {
        results.addAll(each.get());
      }
      return results;
    } finally {
      threads.shutdownNow();
    }
  }

  private static void assertOneEffectEach(GuardRig rig, int keys) {
    assertThat(DuplicateRows.in(rig.database)).as("standing twice").isEmpty();
    assertThat(rig.count("receipt")).isEqualTo(keys);
    assertThat(rig.database.count("SELECT COUNT(*) FROM effect")).isEqualTo(keys);
    assertThat(rig.database.count("SELECT COUNT(DISTINCT id) FROM effect")).isEqualTo(keys);
  }
}
