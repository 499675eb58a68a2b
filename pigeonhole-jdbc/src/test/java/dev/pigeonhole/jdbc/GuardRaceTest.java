package dev.pigeonhole.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.Guarded;
import dev.pigeonhole.store.StoreException;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.TestDatabases;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Eight copies of each key at once: the body runs once for each, whoever is first. */
class GuardRaceTest {
  private static final int COPIES = 8;

  @ParameterizedTest
  @EnumSource(names = {"POSTGRES", "MARIADB"})
  void b39_m1_v3_t2_t16_copiesAtOnceRunTheBodyOnce(DatabaseKind kind) throws Exception {
    int keys = Size.of(200, 2_000);
    try (GuardRig rig = GuardRig.on(TestDatabases.open(kind))) {
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
  void copiesInTransactionsOfTheirCallersRunTheBodyOnce(DatabaseKind kind, int isolation)
      throws Exception {
    int keys = Size.of(100, 2_000);
    try (GuardRig rig = GuardRig.on(TestDatabases.open(kind))) {
      AtomicInteger committed = new AtomicInteger();
      ThreadLocal<Connection> connections =
          ThreadLocal.withInitial(() -> connection(rig, isolation));
      List<Guarded<Integer>> results =
          race(keys, id -> joined(rig, connections.get(), id, committed));

      assertThat(committed).as("runs that were committed").hasValue(keys);
      assertThat(results.stream().filter(Guarded.Ran.class::isInstance)).hasSize(keys);
      assertThat(results.stream().filter(Guarded.Repeat.class::isInstance))
          .hasSize(keys * (COPIES - 1));
      assertOneEffectEach(rig, keys);
    }
  }

  /** As a caller does it: read something, run, commit; and all of it again when told so. */
  private static Guarded<Integer> joined(
      GuardRig rig, Connection connection, String id, AtomicInteger committed) throws SQLException {
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
                  return 1;
                });
        connection.commit();
        if (result instanceof Guarded.Ran) {
          committed.incrementAndGet();
        }
        return result;
      } catch (StoreException e) {
        connection.rollback();
        if (e.kind() != StoreException.Kind.TRANSIENT || attempt == 50) {
          throw e;
        }
      }
    }
  }

  private static Connection connection(GuardRig rig, int isolation) {
    try {
      Connection connection = rig.database.dataSource().getConnection();
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
            together.await();
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
    assertThat(rig.count("receipt")).isEqualTo(keys);
    assertThat(rig.database.count("SELECT COUNT(*) FROM effect")).isEqualTo(keys);
    assertThat(rig.database.count("SELECT COUNT(DISTINCT id) FROM effect")).isEqualTo(keys);
  }
}
