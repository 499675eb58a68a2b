package dev.pigeonhole.jdbc;

import static dev.pigeonhole.HandlerOption.within;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import com.zaxxer.hikari.HikariDataSource;
import dev.pigeonhole.Channel;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.Failure;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.Message;
import dev.pigeonhole.RetryPolicy;
import dev.pigeonhole.RunningInbox;
import dev.pigeonhole.admin.DeliveryState;
import dev.pigeonhole.admin.DeliveryView;
import dev.pigeonhole.store.AcceptResult;
import dev.pigeonhole.store.Delivery;
import dev.pigeonhole.store.Outcome;
import dev.pigeonhole.store.SettleResult;
import dev.pigeonhole.store.StoreException;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.TimeZone;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Inboxes on databases that are locked, full, tampered with, or in another part of the world. */
class HardTimesTest {
  private static final Duration LONG = Duration.ofMinutes(5);

  private static DeliveryView view(Inbox inbox, String id, String handler) {
    return inbox.find("texts", id, handler).orElseThrow();
  }

  private static void completed(Inbox inbox, String id, String handler) {
    Eventually.passes(
        LONG,
        () -> {
          DeliveryView view = view(inbox, id, handler);
          assertThat(view.state()).isEqualTo(DeliveryState.COMPLETED);
          assertThat(view.failures()).isZero();
        });
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#all")
  void dur13_d57_contentThatWasChangedInTheDatabaseReachesNoHandler(TestDatabase database) {
    Schema.migrate(database.dataSource());
    AtomicInteger calls = new AtomicInteger();
    Channel channel =
        Channel.named("texts")
            .on(String.class)
            .handle("plain", text -> calls.incrementAndGet())
            .handleInTransaction("transactional", (text, tx) -> calls.incrementAndGet())
            .build();
    Inbox inbox = Inbox.on(JdbcStore.of(database.pool(12))).channel(channel).build();
    inbox.accept("texts", Message.of("m", "as it was"));
    String quote = database.kind() == DatabaseKind.MARIADB ? "`" : "\"";
    byte[] content = "as it is now".getBytes(StandardCharsets.UTF_8);
    database.execute(
        "UPDATE " + quote + "pigeonhole_message" + quote + " SET content = ?", content);

    inbox.drain();

    assertThat(calls).hasValue(0);
    for (String handler : List.of("plain", "transactional")) {
      assertThat(view(inbox, "m", handler).state()).isEqualTo(DeliveryState.POISONED);
      assertThat(view(inbox, "m", handler).lastFailure().map(Failure::code))
          .contains(ErrorCode.PAYLOAD_CORRUPT);
    }
  }

  @Test
  void clm06_aNodeBeatsWhileItsHandlersHoldEveryConnection() throws Exception {
    try (TestDatabase database = TestDatabases.open(DatabaseKind.POSTGRES)) {
      Schema.migrate(database.dataSource());
      HikariDataSource pool = database.pool(4);
      CountDownLatch held = new CountDownLatch(1);
      CountDownLatch done = new CountDownLatch(1);
      Channel channel =
          Channel.named("texts")
              .on(String.class)
              .handle(
                  "greedy",
                  text -> {
                    List<Connection> mine = new ArrayList<>();
                    try {
                      while (mine.size() < 3) { // the fourth is the one for beats
                        mine.add(pool.getConnection());
                      }
                      held.countDown();
                      done.await();
                    } finally {
                      for (Connection each : mine) {
                        each.close();
                      }
                    }
                  })
              .build();
      Inbox inbox =
          Inbox.on(JdbcStore.of(pool))
              .channel(channel)
              .beat(Duration.ofMillis(50))
              .deadAfter(Duration.ofMinutes(5))
              .build();
      String beat = "SELECT max(beat) FROM \"pigeonhole_node\"";
      try (RunningInbox running = inbox.start()) {
        inbox.accept("texts", Message.of("m", "x"));
        assertThat(held.await(300, TimeUnit.SECONDS)).isTrue();
        long before = database.count(beat);
        Eventually.until(LONG, () -> database.count(beat) >= before + 10);
        Eventually.until(Duration.ofMinutes(3), running::healthy);
        done.countDown();
        completed(inbox, "m", "greedy");
        assertThat(database.count("SELECT count(*) FROM \"pigeonhole_node\"")).isEqualTo(1);
      } finally {
        done.countDown();
      }
    }
  }

  @Test
  void hx02_timeoutsLeaveAnH2DatabaseOpen() {
    int messages = Size.of(12, 1_000);
    try (TestDatabase database = TestDatabases.open(DatabaseKind.H2)) {
      Schema.migrate(database.dataSource());
      database.execute("CREATE TABLE effect (n int)");
      HikariDataSource pool = database.pool(12);
      AtomicInteger interrupted = new AtomicInteger();
      Channel channel =
          Channel.named("texts")
              .on(String.class)
              .handleMessage(
                  "slow",
                  received -> {
                    while (!received.stopRequested()) {
                      try (Connection connection = pool.getConnection();
                          Statement statement = connection.createStatement()) {
                        statement.execute("INSERT INTO effect VALUES (1)");
                      }
                    }
                    if (Thread.interrupted()) {
                      interrupted.incrementAndGet();
                    }
                  },
                  within(Duration.ofMillis(40)))
              .build();
      Inbox inbox =
          Inbox.on(JdbcStore.of(pool))
              .channel(channel)
              .concurrency(2)
              .retry(RetryPolicy.fixed(Duration.ofSeconds(1)).maxAttempts(1))
              .build();
      try (RunningInbox running = inbox.start()) {
        for (int i = 0; i < messages; i++) {
          inbox.accept("texts", Message.of("m-" + i, "x"));
        }
        Eventually.passes(
            LONG.plusMillis(100L * messages),
            () -> assertThat(inbox.admin().poisoned(messages + 1)).hasSize(messages));
        assertThat(inbox.admin().poisoned(messages))
            .allSatisfy(
                view ->
                    assertThat(view.lastFailure().map(Failure::code))
                        .contains(ErrorCode.HANDLER_TIMED_OUT));
        Eventually.until(Duration.ofMinutes(3), running::healthy);
      }
      assertThat(interrupted).hasValue(0);
      assertThat(database.count("SELECT count(*) FROM effect")).isPositive();
    }
  }

  @Test
  void pg19_whoeverWaitsForALockedTableGoesOnAfterwards() throws Exception {
    try (TestDatabase database = TestDatabases.open(DatabaseKind.POSTGRES);
        Connection operator = database.dataSource().getConnection()) {
      Schema.migrate(database.dataSource());
      Channel channel = Channel.named("texts").on(String.class).handle("a", text -> {}).build();
      Inbox inbox = Inbox.on(JdbcStore.of(database.pool(6))).channel(channel).build();
      try (RunningInbox running = inbox.start()) {
        inbox.accept("texts", Message.of("before", "x"));
        completed(inbox, "before", "a");
        operator.setAutoCommit(false);
        try (Statement statement = operator.createStatement()) {
          statement.execute("LOCK TABLE \"pigeonhole_delivery\" IN ACCESS EXCLUSIVE MODE");
        }
        assertThatExceptionOfType(StoreException.class)
            .isThrownBy(() -> inbox.accept("texts", Message.of("meanwhile", "x")))
            .satisfies(
                e -> {
                  assertThat(e.kind()).isEqualTo(StoreException.Kind.TRANSIENT);
                  assertThat(e.code()).isEqualTo(ErrorCode.DATABASE_TRANSIENT);
                });
        operator.rollback();

        inbox.accept("texts", Message.of("meanwhile", "x"));
        completed(inbox, "meanwhile", "a");
        Eventually.until(Duration.ofMinutes(3), running::healthy);
      }
    }
  }

  /** The server may not have noticed yet that the connections before it were closed. */
  private static Connection connect(TestDatabase crowded) {
    AtomicReference<Connection> connection = new AtomicReference<>();
    Eventually.passes(LONG, () -> connection.set(crowded.dataSource().getConnection()));
    return connection.get();
  }

  @Test
  void pg21_tooManyConnectionsAreWaitedFor() throws Exception {
    try (TestDatabase database = TestDatabases.open(DatabaseKind.POSTGRES)) {
      Schema.migrate(database.dataSource());
      String role = "role_" + database.schema();
      String schema = "\"" + database.schema() + "\"";
      database.execute("CREATE ROLE " + role + " LOGIN");
      database.execute("GRANT USAGE ON SCHEMA " + schema + " TO " + role);
      database.execute("GRANT ALL ON ALL TABLES IN SCHEMA " + schema + " TO " + role);
      database.execute("GRANT ALL ON ALL SEQUENCES IN SCHEMA " + schema + " TO " + role);
      TestDatabase crowded = TestDatabase.attach(database.jdbcUrl(), role, "");
      Rig rig = Rig.on(database, crowded.dataSource());
      try (Connection first = connect(crowded);
          Connection second = connect(crowded)) {
        assertThat(List.of(first, second)).doesNotHaveDuplicates();
        // Only now: the server counts a closed connection until its process has ended.
        database.execute("ALTER ROLE " + role + " CONNECTION LIMIT 2");
        assertThatExceptionOfType(StoreException.class)
            .isThrownBy(() -> rig.accept(rig.message("m", rig.a)))
            .satisfies(e -> assertThat(e.kind()).isEqualTo(StoreException.Kind.TRANSIENT));
      }
      Eventually.passes(
          LONG,
          () ->
              assertThat(rig.accept(rig.message("m", rig.a)))
                  .isInstanceOf(AcceptResult.Stored.class));
      assertThat(rig.only(rig.a).failures()).isZero();
      Eventually.passes(LONG, () -> database.execute("DROP OWNED BY " + role));
      database.execute("DROP ROLE " + role);
    }
  }

  @Test
  void my01_aUnitLocksItsRowAndNoGapBesideIt() throws Exception {
    try (TestDatabase database = TestDatabases.open(DatabaseKind.MARIADB)) {
      Rig rig = Rig.on(database);
      rig.store.acceptor().accept(rig.messages("before-", 20, rig.a));
      List<Delivery> open = rig.open(rig.a, 100);
      AtomicReference<String> isolation = new AtomicReference<>();
      List<AcceptResult> meanwhile = new ArrayList<>();
      rig.store
          .transactions()
          .orElseThrow()
          .run(
              open.subList(5, 15),
              (row, connection) -> {
                if (isolation.get() == null) {
                  isolation.set(text(connection, "SELECT @@tx_isolation"));
                  CompletableFuture.runAsync(
                          () ->
                              meanwhile.addAll(
                                  rig.store.acceptor().accept(rig.messages("m-", 20, rig.a))))
                      .get(300, TimeUnit.SECONDS);
                }
              });

      assertThat(isolation).hasValue("READ-COMMITTED");
      assertThat(meanwhile)
          .hasSize(20)
          .allSatisfy(result -> assertThat(result).isInstanceOf(AcceptResult.Stored.class));
    }
  }

  private static String text(Connection connection, String sql) throws SQLException {
    try (Statement statement = connection.createStatement();
        ResultSet result = statement.executeQuery(sql)) {
      result.next();
      return result.getString(1);
    }
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#servers")
  void aSettleWaitsForNoLockedRow(TestDatabase database) throws Exception {
    Rig rig = Rig.on(database);
    rig.accept(rig.message("late", rig.a));
    rig.settle(rig.open(rig.a, 10), new Outcome.LaterUncounted(Duration.ZERO));
    rig.accept(rig.message("fresh", rig.a));
    List<Delivery> both = rig.open(rig.a, 10);
    assertThat(both).extracting(Delivery::late).containsExactly(false, true);
    rig.accept(rig.message("free", rig.b));
    List<Delivery> all = new ArrayList<>(both);
    all.add(rig.only(rig.b));
    try (Connection other = database.dataSource().getConnection();
        Statement statement = other.createStatement()) {
      other.setAutoCommit(false);
      for (Delivery each : both) {
        statement
            .executeQuery(
                "SELECT seq FROM %s WHERE lane = %d AND handler = %d AND seq = %d FOR UPDATE"
                    .formatted(
                        rig.table(each.late() ? "later" : "delivery"),
                        each.cell().lane(),
                        each.cell().handler(),
                        each.seq()))
            .close();
      }
      for (Outcome outcome :
          List.of(
              new Outcome.Completed(),
              new Outcome.RetryAfter(Duration.ZERO, Rig.failure("x")),
              new Outcome.Released(),
              new Outcome.Blocked(),
              new Outcome.Poisoned(Rig.failure("x"), true))) {
        for (Delivery each : both) {
          SettleResult result = rig.trySettle(List.of(each), outcome);
          assertThat(result.locked()).containsExactly(each);
          assertThat(result.refused()).isEmpty();
        }
      }
      SettleResult result = rig.trySettle(all, new Outcome.Completed());
      assertThat(result.locked()).containsExactlyInAnyOrderElementsOf(both);
      assertThat(result.refused()).isEmpty();
      assertThat(rig.open(rig.b, 10)).isEmpty();
      other.rollback();
    }
    assertThat(rig.trySettle(both, new Outcome.Completed()).complete()).isTrue();
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#all")
  void my15_d94_timesAreTheSameInEveryZone(TestDatabase database) {
    Schema.migrate(database.dataSource());
    TimeZone own = TimeZone.getDefault();
    // Read as local time, this one does not exist in New York.
    Instant night = Instant.parse("2026-03-08T02:30:00.123456Z");
    Instant later = Instant.now().plus(Duration.ofMinutes(20));
    try {
      TimeZone.setDefault(TimeZone.getTimeZone("America/New_York"));
      Inbox there = inZone(database, "America/New_York", "-05:00");
      there.accept("texts", Message.of("m", "x").occurredAt(night));
      there.accept("texts", Message.of("n", "x").notBefore(later));
      TimeZone.setDefault(TimeZone.getTimeZone("Asia/Kolkata"));
      Inbox here = inZone(database, "Asia/Kolkata", "+05:30");

      assertThat(here.drain()).isEqualTo(1);

      assertThat(seen).hasValue(night);
      DeliveryView waiting = view(here, "n", "a");
      assertThat(waiting.due().orElseThrow()).isBetween(later.minusMillis(1), later.plusMillis(1));
      assertThat(Duration.between(waiting.receivedAt(), Instant.now()).abs())
          .isLessThan(Duration.ofMinutes(10));
    } finally {
      TimeZone.setDefault(own);
    }
  }

  private final AtomicReference<Instant> seen = new AtomicReference<>();

  private Inbox inZone(TestDatabase database, String name, String offset) {
    TestDatabase view =
        switch (database.kind()) {
          case POSTGRES -> database.with("options", "-c%20TimeZone=" + name);
          case MARIADB -> database.with("sessionVariables", "time_zone='" + offset + "'");
          case H2 -> database;
        };
    return Inbox.on(JdbcStore.of(view.dataSource()))
        .channel(
            Channel.named("texts")
                .on(String.class)
                .handleMessage("a", received -> seen.set(received.occurredAt().orElse(null)))
                .build())
        .build();
  }
}
