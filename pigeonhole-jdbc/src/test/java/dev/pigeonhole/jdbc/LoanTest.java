package dev.pigeonhole.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import com.zaxxer.hikari.HikariDataSource;
import dev.pigeonhole.Channel;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.Message;
import dev.pigeonhole.admin.Count;
import dev.pigeonhole.admin.HandlerCounts;
import dev.pigeonhole.store.Delivery;
import dev.pigeonhole.store.StoreException;
import dev.pigeonhole.store.Transactions.WorkFailedException;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.Direction;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.support.FaultProxy;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import javax.sql.DataSource;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Connections are borrowed: they go back whatever happens, and nobody waits on one for ever. */
class LoanTest {
  private static final int CALLS_OF_A_LOAN = 16;

  @Test
  void jd06_whateverFailsOnAConnectionItGoesBack() {
    try (TestDatabase database = TestDatabases.open(DatabaseKind.H2)) {
      InboxTables.in(database);
      HikariDataSource pool = database.pool(3);
      AtomicInteger left = new AtomicInteger(Integer.MAX_VALUE);
      Rig rig =
          Rig.on(
              database,
              Pretending.twisted(
                  pool,
                  call -> {
                    if (left.getAndDecrement() != 0) {
                      return call.go();
                    }
                    if (call.name().equals("close")) {
                      call.go();
                    }
                    throw new SQLException("Failed on purpose in " + call.name(), "HY000");
                  }));
      int rounds = Size.of(1, 21); // about a thousand in a full run
      for (int i = 0; i < rounds * 3 * CALLS_OF_A_LOAN; i++) {
        String id = "m-" + i;
        left.set(i / 3 % CALLS_OF_A_LOAN);
        switch (i % 3) {
          case 0 -> tried(() -> rig.accept(rig.message(id, rig.a)));
          case 1 -> tried(() -> rig.complete(rig.open(rig.a, 1)));
          default -> tried(() -> unit(rig, rig.open(rig.a, 1)));
        }
        assertThat(pool.getHikariPoolMXBean().getActiveConnections()).as(id).isZero();
      }
    }
  }

  private static void unit(Rig rig, List<Delivery> open) {
    try {
      rig.store.transactions().orElseThrow().run(open, (row, connection) -> {});
    } catch (WorkFailedException e) {
      throw new IllegalStateException(e);
    }
  }

  private static void tried(Runnable call) {
    try {
      call.run();
    } catch (RuntimeException e) {
      assertThat(e).hasStackTraceContaining("on purpose");
    }
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#servers")
  void jd09_interruptsLeaveNoConnectionBehind(TestDatabase database) {
    InboxTables.in(database);
    HikariDataSource pool = database.pool(3);
    AtomicBoolean interrupting = new AtomicBoolean();
    Rig rig =
        Rig.on(
            database,
            Pretending.twisted(
                pool,
                call -> {
                  if (interrupting.get() && call.name().equals("prepareStatement")) {
                    Thread.currentThread().interrupt();
                  }
                  return call.go();
                }));
    int times = Size.of(60, 1_000);
    for (int i = 0; i < times; i++) {
      interrupting.set(i % 2 == 0);
      if (i % 3 == 0) {
        Thread.currentThread().interrupt();
      }
      try {
        rig.accept(rig.message("m-" + i, rig.a));
      } catch (StoreException e) {
        assertThat(e.kind()).isNotEqualTo(StoreException.Kind.PERMANENT);
      } finally {
        Thread.interrupted();
      }
      assertThat(pool.getHikariPoolMXBean().getActiveConnections()).isZero();
    }
    interrupting.set(false);
    assertThat(rig.complete(rig.open(rig.a, times))).isEmpty();
    assertThat(rig.count("receipt")).isEqualTo(rig.count("message")).isGreaterThan(times / 3);
  }

  @ParameterizedTest
  @EnumSource(names = {"POSTGRES", "MARIADB"})
  void dur05_jd05_clm26_aCommitThatHangsEndsAtTheNetworkLimitAsUnknown(DatabaseKind kind) {
    try (TestDatabase database = TestDatabases.open(kind);
        FaultProxy proxy = FaultProxy.to(TestDatabases.server(kind))) {
      InboxTables.in(database);
      AtomicBoolean hanging = new AtomicBoolean();
      DataSource hangs =
          Pretending.twisted(
              database.through(proxy).dataSource(),
              call -> {
                if (call.name().equals("commit") && hanging.compareAndSet(true, false)) {
                  // Nobody wants to wait here for as long as the library would.
                  assertThat(call.connection().getNetworkTimeout()).isEqualTo(60_000);
                  call.connection().setNetworkTimeout(Runnable::run, 500);
                  proxy.blackhole(Direction.TO_CLIENT);
                }
                return call.go();
              });
      Rig rig = Rig.on(database, hangs);
      rig.accept(rig.message("m", rig.a));
      Delivery delivery = rig.only(rig.a);

      hanging.set(true);
      assertThatExceptionOfType(StoreException.class)
          .isThrownBy(() -> unit(rig, List.of(delivery)))
          .satisfies(e -> assertThat(e.code()).isEqualTo(ErrorCode.COMMIT_UNKNOWN));
      proxy.heal();

      Eventually.until(Duration.ofMinutes(3), () -> rig.count("receipt") == 1);
      rig.accept(rig.message("n", rig.a));
      unit(rig, rig.open(rig.a, 10));
      assertThat(rig.count("receipt")).isEqualTo(2);
    }
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#servers")
  void jd05_aConnectionHasALimitBeforeItsFirstStatementAndNoneWhenItGoesBack(
      TestDatabase database) {
    InboxTables.in(database);
    List<String> calls = new CopyOnWriteArrayList<>();
    Rig rig =
        Rig.on(
            database,
            Pretending.twisted(
                database.dataSource(),
                call -> {
                  switch (call.name()) {
                    case "setNetworkTimeout" -> calls.add("limit " + call.args()[1]);
                    case "prepareStatement", "commit" -> calls.add("work");
                    case "close" -> calls.add("close");
                    default -> {}
                  }
                  return call.go();
                }));
    calls.clear();
    rig.accept(rig.message("m", rig.a));

    assertThat(calls).startsWith("limit 60000", "work").endsWith("limit 0", "close");
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#servers")
  void jd05_theRollbackOfAFailedHandlerHasALimitAndTheHandlerHasNone(TestDatabase database) {
    InboxTables.in(database);
    List<String> limits = new CopyOnWriteArrayList<>();
    Rig rig =
        Rig.on(
            database,
            Pretending.twisted(
                database.dataSource(),
                call -> {
                  if (call.name().equals("rollback")) {
                    limits.add("rollback " + call.connection().getNetworkTimeout());
                  }
                  return call.go();
                }));
    rig.accept(rig.message("m", rig.a));
    List<Delivery> open = rig.open(rig.a, 10);
    limits.clear();
    assertThatExceptionOfType(WorkFailedException.class)
        .isThrownBy(
            () ->
                rig.store
                    .transactions()
                    .orElseThrow()
                    .run(
                        open,
                        (row, connection) -> {
                          limits.add("handler " + connection.getNetworkTimeout());
                          throw new IllegalStateException("on purpose");
                        }));

    assertThat(limits).containsExactly("handler 0", "rollback 60000");
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#all")
  void anInboxThatOnlyAcceptsAndCountsKeepsNoConnection(TestDatabase database) {
    InboxTables.in(database);
    HikariDataSource pool = database.pool(20);
    Inbox inbox =
        Inbox.on(JdbcStore.of(pool))
            .channel(Channel.named("c").on(String.class).handle("h", text -> {}).build())
            .build();
    inbox.accept("c", Message.of("m", "text"));

    assertThat(inbox.admin().counts()).extracting(HandlerCounts::open).containsExactly(Count.of(1));
    assertThat(inbox.find("c", "m", "h")).isPresent();
    assertThat(pool.getHikariPoolMXBean().getActiveConnections()).isZero();
  }
}
