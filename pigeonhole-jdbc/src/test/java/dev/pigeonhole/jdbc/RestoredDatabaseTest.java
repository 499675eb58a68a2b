package dev.pigeonhole.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.zaxxer.hikari.HikariDataSource;
import dev.pigeonhole.Channel;
import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.InboxBuilder;
import dev.pigeonhole.Message;
import dev.pigeonhole.MessageHandler;
import dev.pigeonhole.PoisonException;
import dev.pigeonhole.Received;
import dev.pigeonhole.RunningInbox;
import dev.pigeonhole.admin.DeliveryState;
import dev.pigeonhole.event.InboxEvent;
import dev.pigeonhole.store.Cell;
import dev.pigeonhole.store.CellRow;
import dev.pigeonhole.store.HandlerId;
import dev.pigeonhole.store.NodeRow;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.support.TestDatabase;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLTransientConnectionException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import javax.sql.DataSource;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * A database that has forgotten its last commits, while processes still know them: a backup was
 * restored, or a standby promoted that lagged behind. SQL takes back what was forgotten; the proofs
 * do it with a real standby.
 */
@Execution(ExecutionMode.CONCURRENT)
class RestoredDatabaseTest {
  private static final Duration PATIENCE = Duration.ofMinutes(5);

  private final Queue<String> invoked = new ConcurrentLinkedQueue<>();
  private final CountDownLatch underWay = new CountDownLatch(1);
  private final CountDownLatch release = new CountDownLatch(1);

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#all")
  void theEndOfAForgottenMessageDoesNotConcernTheOneThatHasItsNumber(TestDatabase database)
      throws Exception {
    InboxTables.in(database);
    Inbox inbox = inbox(database, "h", this::stuckAtTheFirst);
    try (RunningInbox running = inbox.start()) {
      inbox.accept("c", Message.of("forgotten", "x"));
      underWay.await();
      long number = number(database, "forgotten");
      forget(database, "message", "1 = 1");
      forget(database, "delivery", "1 = 1");
      database.execute(
          "ALTER SEQUENCE " + name(database, "message_seq") + " RESTART WITH " + number);

      inbox.accept("c", Message.of("accepted", "x"));
      assertThat(number(database, "accepted")).isEqualTo(number);
      // While the other attempt is under way this one is run, and after its end it stays what it
      // is.
      Eventually.until("an invocation", PATIENCE, () -> invoked.contains("accepted"));
      release.countDown();
      Eventually.until("no other attempt", PATIENCE, () -> invoked.contains("forgotten ends"));
      completed(inbox, "accepted");
      inbox.accept("c", Message.of("next", "x"));
      completed(inbox, "next");

      assertThat(inbox.find("c", "accepted", "h").orElseThrow().failures()).isZero();
      Eventually.until(Duration.ofMinutes(3), running::healthy);
    } finally {
      release.countDown();
    }
  }

  private void stuckAtTheFirst(Received<String> message) throws Exception {
    String id = message.message().id();
    invoked.add(id);
    if (id.equals("forgotten")) {
      underWay.countDown();
      release.await();
      invoked.add("forgotten ends");
      throw new PoisonException("which must poison nobody");
    }
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#all")
  void aForgottenHandlerKeyGetsItsNumberAgainAndNoOtherKeyGetsIt(TestDatabase database) {
    Rig rig = Rig.on(database);
    HandlerId forgotten = register(rig, "forgotten");
    forget(database, "handler", "handler_key = 'forgotten'");

    HandlerId other = register(rig, "other");
    assertThat(other.keyId()).isNotEqualTo(forgotten.keyId());
    assertThat(register(rig, "forgotten")).isEqualTo(forgotten);
  }

  /** The versions of an application register its keys one after the other, or all at once. */
  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#all")
  void aForgottenFamilyGetsItsNumberAgainWithAllItsKeys(TestDatabase database) {
    Rig rig = Rig.on(database);
    HandlerId former = register(rig, "former");
    List<HandlerId> family = family(rig, "renamed", "former");
    assertThat(family).extracting(HandlerId::family).containsOnly(former.family());
    forget(database, "handler", "handler_key IN ('former', 'renamed')");

    assertThat(family(rig, "renamed", "former")).isEqualTo(family);
  }

  private static HandlerId register(Rig rig, String key) {
    return family(rig, key).get(0);
  }

  private static List<HandlerId> family(Rig rig, String... keys) {
    return rig.store.maintenance().register(List.of(List.of(keys))).get(0);
  }

  /** What other nodes register meanwhile is theirs. */
  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#servers")
  void aNodeWhoseHandlerWasForgottenRegistersItAgain(TestDatabase database) {
    InboxTables.in(database);
    inbox(database, "old", message -> {}).start().close();
    Inbox inbox = inbox(database, "new", message -> invoked.add("new " + message.message().id()));
    try (RunningInbox running = inbox.start()) {
      Eventually.until(
          "lanes of its own",
          PATIENCE,
          () -> database.count("SELECT count(*) FROM pigeonhole_lane WHERE owner <> 0") > 0);
      forget(database, "handler", "handler_key = 'new'");
      forget(database, "lane", "owner <> 0");
      Inbox other =
          inbox(database, "other", message -> invoked.add("other " + message.message().id()));
      forget(database, "node", "state = 'LIVE'");
      try (RunningInbox beside = other.start()) {
        inbox.accept("c", Message.of("for-new", "x"));
        other.accept("c", Message.of("for-other", "x"));
        Eventually.passes(
            PATIENCE, () -> assertThat(invoked).contains("new for-new", "other for-other"));
        assertThat(invoked).doesNotContain("new for-other", "other for-new");
        Eventually.until("a node that beats", PATIENCE, running::healthy);
        Eventually.until(Duration.ofMinutes(3), beside::healthy);
      }
    }
  }

  /** The application may hold all connections, as after an outage. */
  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#servers")
  void aNodeJoinsAgainAndRegistersItsHandlersWhileThePoolIsEmpty(TestDatabase database)
      throws SQLException {
    InboxTables.in(database);
    HikariDataSource pool = database.pool(12);
    Inbox inbox = builder(pool, "h", message -> invoked.add(message.message().id())).build();
    List<Connection> held = new ArrayList<>();
    try (RunningInbox running = inbox.start()) {
      try {
        pool.setConnectionTimeout(1_000);
        assertThatThrownBy(
                () -> {
                  while (held.size() < 12) {
                    held.add(pool.getConnection());
                  }
                })
            .isInstanceOf(SQLTransientConnectionException.class);
        forget(database, "handler", "handler_key = 'h'");
        forget(database, "lane", "1 = 1");
        forget(database, "node", "state = 'LIVE'");

        Eventually.until(
            "lanes of the next incarnation",
            PATIENCE,
            () -> database.count("SELECT count(*) FROM pigeonhole_lane WHERE owner <> 0") > 0);
      } finally {
        for (Connection each : held) {
          each.close();
        }
      }
      inbox.accept("c", Message.of("m", "x"));
      Eventually.until("an invocation", PATIENCE, () -> invoked.contains("m"));
      Eventually.until("a node that beats", PATIENCE, running::healthy);
    }
  }

  /** It would run the deliveries of another handler. */
  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#servers")
  void aNodeWhoseHandlerHasAnotherNumberByNowStartsNothing(TestDatabase database) {
    InboxTables.in(database);
    Queue<Throwable> failures = new ConcurrentLinkedQueue<>();
    Inbox inbox =
        builder(database, "new", message -> {})
            .listener(
                event -> {
                  if (event instanceof InboxEvent.Restarted restarted) {
                    failures.add(restarted.cause());
                  }
                })
            .build();
    try (RunningInbox running = inbox.start()) {
      database.execute("UPDATE pigeonhole_handler SET key_id = key_id + 1, family = family + 1");
      forget(database, "node", "state = 'LIVE'");

      Eventually.passes(
          PATIENCE,
          () ->
              assertThat(failures)
                  .anySatisfy(
                      failure ->
                          assertThat(failure)
                              .isInstanceOf(ConfigurationException.class)
                              .hasMessageContaining(ErrorCode.HANDLER_NUMBER_CHANGED.text())
                              .hasMessageContaining("'new'")));
      Eventually.until("a node that starts nothing", PATIENCE, () -> !running.healthy());
    }
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#all")
  void twoNodesWithOneNumberAreTwoIncarnations(TestDatabase database) {
    Rig rig = Rig.on(database);
    var nodes = rig.store.nodes();
    long lost = nodes.join("lost", Set.of(rig.a.family()));
    forget(database, "node", "1 = 1");
    database.execute("ALTER SEQUENCE " + name(database, "node_seq") + " RESTART WITH 1");
    long joined = nodes.join("joined", Set.of(rig.a.family()));
    nodes.take(joined, Rig.cells(rig.a));

    assertThat(nodes.beat(lost, 0)).isFalse();
    assertThat(nodes.take(lost, Rig.cells(rig.b))).isEmpty();
    nodes.giveBack(lost, Rig.cells(rig.a));
    nodes.stopped(lost);
    assertThat(nodes.cells(Set.of(rig.a.family())))
        .allSatisfy(row -> assertThat(row.owner()).isEqualTo(joined));
    assertThat(nodes.beat(joined, 0)).isTrue();
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#all")
  void aTokenThatWentBackInTheDatabaseGoesOnAboveTheForgottenOne(TestDatabase database) {
    Rig rig = Rig.on(database);
    var nodes = rig.store.nodes();
    List<Cell> cell = Rig.cells(rig.a).subList(0, 1);
    long incarnation = nodes.join("n", Set.of(rig.a.family()));
    nodes.take(incarnation, cell);
    nodes.giveBack(incarnation, cell);
    long forgotten = nodes.take(incarnation, cell).get(0).token();
    database.execute("UPDATE " + name(database, "lane") + " SET owner = 0, token = 0");
    // Taken twice in one millisecond, the token is ahead of the clock.
    Eventually.until("another millisecond", PATIENCE, () -> System.currentTimeMillis() > forgotten);

    CellRow again = nodes.take(incarnation, cell).get(0);
    assertThat(again.token()).isGreaterThanOrEqualTo(forgotten);
    assertThat(nodes.cells(Set.of(rig.a.family()))).contains(again);
  }

  /** The node's own beats tell it that something is gone; it begins anew, and at once. */
  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#servers")
  void aBackupThatIsRestoredUnderARunningNodeBeginsAnotherIncarnation(TestDatabase database) {
    Rig rig = Rig.on(database);
    Inbox inbox = inbox(database, "h", message -> invoked.add(message.message().id()));
    try (RunningInbox running = inbox.start()) {
      Eventually.until("some beats", PATIENCE, () -> living(rig).get(0).beat() > 5);
      long before = living(rig).get(0).incarnation();
      database.execute("UPDATE " + name(database, "node") + " SET beat = 1");

      Eventually.until(
          "another incarnation",
          PATIENCE,
          () -> living(rig).stream().noneMatch(row -> row.incarnation() == before));
      inbox.accept("c", Message.of("m", "x"));
      completed(inbox, "m");
      assertThat(living(rig)).hasSize(1);
      Eventually.until(Duration.ofMinutes(3), running::healthy);
    }
  }

  private static List<NodeRow> living(Rig rig) {
    return rig.store.nodes().nodes().stream().filter(NodeRow::alive).toList();
  }

  private static Inbox inbox(TestDatabase database, String key, MessageHandler<String> handler) {
    return builder(database, key, handler).build();
  }

  private static InboxBuilder builder(
      TestDatabase database, String key, MessageHandler<String> handler) {
    return builder(database.pool(12), key, handler);
  }

  private static InboxBuilder builder(
      DataSource dataSource, String key, MessageHandler<String> handler) {
    return Inbox.on(JdbcStore.of(dataSource))
        .named("shop")
        .lanes(Rig.LANES)
        .beat(Duration.ofMillis(200))
        .channel(Channel.named("c").on(String.class).handleMessage(key, handler).build());
  }

  private static void completed(Inbox inbox, String id) {
    Eventually.until(
        "a receipt of " + id,
        PATIENCE,
        () -> inbox.find("c", id, "h").orElseThrow().state() == DeliveryState.COMPLETED);
  }

  private static long number(TestDatabase database, String id) {
    return database.count(
        "SELECT seq FROM " + name(database, "message") + " WHERE id = '" + id + "'");
  }

  private static void forget(TestDatabase database, String table, String which) {
    database.execute("DELETE FROM " + name(database, table) + " WHERE " + which);
  }

  private static String name(TestDatabase database, String table) {
    String plain = "pigeonhole_" + table;
    return database.kind() == DatabaseKind.H2 ? '"' + plain + '"' : plain;
  }
}
