package dev.pigeonhole.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import com.zaxxer.hikari.HikariDataSource;
import dev.pigeonhole.Channel;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.Message;
import dev.pigeonhole.RunningInbox;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.DatabaseServer;
import dev.pigeonhole.support.Direction;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.support.FaultProxy;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** An inbox stops in time although the database neither answers nor goes away. */
class HangingDatabaseTest {
  private static final Duration PATIENCE = Duration.ofMinutes(3);
  private static final Duration GRACE = Duration.ofSeconds(2);

  private static final String DELIVERY = "pigeonhole_delivery";

  /** Two attempts are under way, one in a transaction, and one ends while nothing answers. */
  private static Inbox inbox(HikariDataSource pool, CountDownLatch begun, CountDownLatch mayEnd) {
    return Inbox.on(JdbcStore.of(pool))
        .named("hanging")
        .beat(Duration.ofMillis(200))
        .deadAfter(Duration.ofSeconds(2))
        .stopGrace(GRACE)
        .channel(
            Channel.named("c")
                .on(String.class)
                .handleMessage(
                    "plain",
                    received -> {
                      begun.countDown();
                      mayEnd.await();
                    })
                .handleInTransaction(
                    "transactional",
                    (payload, transaction) -> {
                      begun.countDown();
                      new CountDownLatch(1).await();
                    })
                .build())
        .build();
  }

  private interface Hang {
    void begin() throws Exception;
  }

  /** How long the stop of a node takes whose database hangs since two attempts have begun. */
  private static Duration closeDuring(Hang hang, HikariDataSource pool) throws Exception {
    CountDownLatch begun = new CountDownLatch(2);
    CountDownLatch mayEnd = new CountDownLatch(1);
    Inbox inbox = inbox(pool, begun, mayEnd);
    RunningInbox running = inbox.start();
    inbox.accept("c", Message.of("m", "x"));
    assertThat(begun.await(3, TimeUnit.MINUTES)).isTrue();
    hang.begin();
    mayEnd.countDown();
    Eventually.until("the hang to be noticed", PATIENCE, () -> !running.healthy());
    return InTime.of(running::close);
  }

  @ParameterizedTest
  @EnumSource(names = {"POSTGRES", "MARIADB"})
  void closeReturnsInTimeWhileTheServerIsFrozen(DatabaseKind kind) throws Exception {
    try (DatabaseServer server = TestDatabases.startServer(kind)) {
      InTime.closes(
          GRACE,
          () -> {
            try (TestDatabase database = server.emptySchema()) {
              Schema.migrate(database.dataSource());
              Duration took;
              try {
                took = closeDuring(server::pause, database.pool(12));
              } finally {
                server.resume();
              }
              nothingIsLost(database);
              return took;
            }
          });
    }
  }

  @ParameterizedTest
  @EnumSource(names = {"POSTGRES", "MARIADB"})
  void closeReturnsInTimeWhileTheNetworkSwallowsEverything(DatabaseKind kind) throws Exception {
    InTime.closes(
        GRACE,
        () -> {
          try (TestDatabase database = TestDatabases.open(kind);
              FaultProxy proxy = FaultProxy.to(TestDatabases.server(kind))) {
            Schema.migrate(database.dataSource());
            Duration took =
                closeDuring(
                    () -> proxy.blackhole(Direction.values()), database.through(proxy).pool(12));
            proxy.heal();
            proxy.cut();
            nothingIsLost(database);
            return took;
          }
        });
  }

  private static void nothingIsLost(TestDatabase database) {
    Inbox next =
        Inbox.on(JdbcStore.of(database.pool(12)))
            .named("hanging")
            .beat(Duration.ofMillis(200))
            .deadAfter(Duration.ofSeconds(2))
            .channel(
                Channel.named("c")
                    .on(String.class)
                    .handleMessage("plain", received -> {})
                    .handleInTransaction("transactional", (payload, transaction) -> {})
                    .build())
            .build();
    next.accept(
        "c", List.copyOf(IntStream.range(0, 10).mapToObj(i -> Message.of("n" + i, "x")).toList()));
    try (RunningInbox again = next.start()) {
      Eventually.until(
          "everything to be done",
          PATIENCE,
          () -> database.count("SELECT count(*) FROM pigeonhole_receipt") == 22);
    }
    assertThat(database.count("SELECT count(*) FROM " + DELIVERY)).isZero();
  }
}
