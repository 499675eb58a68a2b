package dev.pigeonhole.outbox;

import static dev.pigeonhole.HandlerOption.inline;
import static dev.pigeonhole.HandlerOption.retrying;
import static dev.pigeonhole.HandlerOption.sharedCommits;
import static dev.pigeonhole.outbox.Office.ALL;
import static dev.pigeonhole.outbox.Office.ONCE;
import static dev.pigeonhole.outbox.Office.PATIENCE;
import static dev.pigeonhole.outbox.Office.POSTGRES;
import static dev.pigeonhole.outbox.Office.SERVERS;
import static dev.pigeonhole.outbox.Office.order;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.pigeonhole.Acceptance;
import dev.pigeonhole.Channel;
import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.Guard;
import dev.pigeonhole.GuardKey;
import dev.pigeonhole.GuardTransaction;
import dev.pigeonhole.Guarded;
import dev.pigeonhole.Headers;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.InboxBuilder;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.Message;
import dev.pigeonhole.Received;
import dev.pigeonhole.RetryPolicy;
import dev.pigeonhole.RunningInbox;
import dev.pigeonhole.admin.DeliveryState;
import dev.pigeonhole.event.InboxEvent;
import dev.pigeonhole.jdbc.JdbcStore;
import dev.pigeonhole.store.InboxStore;
import dev.pigeonhole.store.StoreException;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.support.StatementCounter;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import dev.pigeonhole.testkit.CrashPlan;
import dev.pigeonhole.transport.Envelope;
import dev.pigeonhole.transport.Publisher;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What a handler publishes goes out if, and only if, its receipt commits. */
class HandlerPublishTest {

  private static InboxBuilder inbox(Office office, Outbox outbox) {
    return Inbox.on(office.store).lanes(4).outbox(outbox);
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void aTransactionalHandlersWritesReceiptAndMessagesCommitTogether(TestDatabase database) {
    Office office = Office.in(database).withEffects();
    Outbox outbox = office.timed().route(OrderPlaced.class, office.transport).build();
    AtomicInteger attempts = new AtomicInteger();
    Channel payments =
        Channel.named("payments")
            .on(String.class)
            .handleInTransaction(
                "post",
                (payment, tx) -> {
                  Office.effect(tx.connection(), payment);
                  tx.publish(order(1).id("out-" + payment));
                  tx.delivery().publish(order(2).id("also-" + payment));
                  if (attempts.incrementAndGet() == 1) {
                    throw new IllegalStateException("after it was published");
                  }
                },
                retrying(RetryPolicy.fixed(Duration.ofMinutes(1)).maxAttempts(5)))
            .build();
    Inbox inbox =
        Inbox.on(office.store.clock(office.clock))
            .lanes(4)
            .outbox(outbox)
            .channel(payments)
            .build();
    inbox.accept("payments", Message.of("p-1", "p-1"));
    inbox.drain();
    assertThat(office.staged()).isZero();
    assertThat(office.effects()).isZero();

    office.clock.advance(Duration.ofMinutes(1));
    inbox.drain();
    outbox.drain();
    assertThat(office.transport.confirmedIds()).containsExactlyInAnyOrder("out-p-1", "also-p-1");
    assertThat(office.effects()).isEqualTo(1);
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void aPlainHandlersMessagesCommitWithItsReceipt(TestDatabase database) {
    Office office = Office.in(database);
    Outbox outbox = office.sending();
    Channel payments =
        Channel.named("payments")
            .on(String.class)
            .handleMessage(
                "tell",
                received -> {
                  received.publish(order(1).id("out-" + received.message().id()));
                  if (received.payload().equals("bad")) {
                    throw new IllegalStateException("after it was published");
                  }
                },
                retrying(ONCE))
            .handleBatch(
                "tell-many",
                10,
                batch -> {
                  for (Received<String> each : batch) {
                    each.publish(order(2).id("batch-" + each.message().id()));
                    if (each.payload().equals("bad")) {
                      batch.fail(each, new IllegalStateException("not this one"));
                    }
                  }
                },
                retrying(ONCE))
            .build();
    Inbox inbox = inbox(office, outbox).channel(payments).build();
    inbox.accept("payments", List.of(Message.of("p-1", "good"), Message.of("p-2", "bad")));
    inbox.drain();
    outbox.drain();

    assertThat(office.transport.confirmedIds()).containsExactlyInAnyOrder("out-p-1", "batch-p-1");
    assertThat(inbox.admin().poisoned(10)).hasSize(2);
    assertThat(inbox.drain()).isZero();
  }

  @ParameterizedTest
  @MethodSource(SERVERS)
  void whatFailsBeforeTheCommitSendsNothingAndRunsAgain(TestDatabase database) {
    Office office = Office.in(database);
    Outbox outbox = office.timed().route(OrderPlaced.class, office.transport).build();
    AtomicInteger runs = new AtomicInteger();
    Channel payments =
        Channel.named("payments")
            .on(String.class)
            .handleMessage(
                "tell",
                received -> {
                  runs.incrementAndGet();
                  received.publish(order(1).id("out-" + received.message().id()));
                },
                retrying(RetryPolicy.fixed(Duration.ofMinutes(1)).maxAttempts(5)))
            .build();
    Inbox inbox =
        Inbox.on(office.store.clock(office.clock))
            .lanes(4)
            .outbox(outbox)
            .channel(payments)
            .build();
    inbox.accept("payments", Message.of("p-1", "p-1"));
    CrashPlan.at("tx.before-commit").throwing(() -> new IllegalStateException("cut"));
    try {
      inbox.drain();
    } finally {
      CrashPlan.clear();
    }
    assertThat(office.staged()).as("staged apart from its receipt").isZero();
    assertThat(inbox.find("payments", "p-1", "tell").orElseThrow().state())
        .isNotEqualTo(DeliveryState.COMPLETED);

    office.clock.advance(Duration.ofMinutes(1));
    inbox.drain();
    outbox.drain();
    assertThat(runs).hasValue(2);
    assertThat(office.transport.confirmedIds()).containsExactly("out-p-1");
  }

  @ParameterizedTest
  @MethodSource(SERVERS)
  void handlersThatShareCommitsPublishToo(TestDatabase database) {
    Office office = Office.in(database);
    Outbox outbox = office.sending();
    Channel payments =
        Channel.named("payments")
            .on(String.class)
            .handleInTransaction(
                "post",
                (payment, tx) -> {
                  tx.publish(order(1).id("out-" + payment));
                  if (payment.equals("p-7")) {
                    throw new IllegalStateException("this one");
                  }
                },
                sharedCommits(50),
                retrying(ONCE))
            .build();
    Inbox inbox = inbox(office, outbox).channel(payments).build();
    inbox.accept(
        "payments",
        IntStream.range(0, 20).mapToObj(i -> Message.of("p-" + i, (Object) ("p-" + i))).toList());
    inbox.drain();
    outbox.drain();

    assertThat(office.transport.confirmedIds())
        .hasSize(19)
        .doesNotHaveDuplicates()
        .doesNotContain("out-p-7");
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void ob07_whatAnInlineHandlerPublishesGoesOutOnceHoweverOftenItsSourceComesAgain(
      TestDatabase database) {
    Office office = Office.in(database).withEffects();
    Outbox outbox = office.sending();
    Channel payments =
        Channel.named("payments")
            .on(String.class)
            .handleInTransaction(
                "post",
                (payment, tx) -> {
                  Office.effect(tx.connection(), payment);
                  tx.publish(order(1));
                },
                inline())
            .handleMessage("tell", received -> received.publish(order(2)), inline())
            .build();
    Inbox inbox = inbox(office, outbox).channel(payments).build();
    for (int copy = 0; copy < 3; copy++) { // nobody ever acknowledges it
      inbox.accept("payments", Message.of("p-1", "p-1"));
    }
    outbox.drain();

    assertThat(office.transport.confirmedIds()).hasSize(2);
    assertThat(office.effects()).isEqualTo(1);
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void aGuardsMessagesCommitWithItsReceipt(TestDatabase database) throws Exception {
    Office office = Office.in(database).withEffects();
    Outbox outbox = office.sending();
    try (Guard guard = Guard.on(office.store).lanes(4).outbox(outbox).build()) {
      GuardKey key = GuardKey.of("charge", OrderPlaced.class, "o-1");
      assertThatThrownBy(
              () ->
                  guard.run(
                      key,
                      tx -> {
                        tx.publish(order(1).id("lost"));
                        throw new IllegalStateException("after it was published");
                      }))
          .isInstanceOf(IllegalStateException.class);
      for (int copy = 0; copy < 2; copy++) {
        Guarded<String> result =
            guard.run(
                key,
                tx -> {
                  Office.effect(tx.connection(), "charged");
                  return tx.publish(order(1).id("out-1"));
                });
        assertThat(result instanceof Guarded.Ran<String>).isEqualTo(copy == 0);
      }
      office.rollBack(
          connection ->
              guard.run(
                  connection,
                  GuardKey.of("charge", OrderPlaced.class, "o-2"),
                  tx -> tx.publish(order(2).id("lost"))));
      office.commit(
          connection ->
              guard.run(
                  connection,
                  GuardKey.of("charge", OrderPlaced.class, "o-3"),
                  tx -> tx.publish(order(3).id("out-3"))));
    }
    outbox.drain();

    assertThat(office.transport.confirmedIds()).containsExactlyInAnyOrder("out-1", "out-3");
    assertThat(office.effects()).isEqualTo(1);
  }

  @ParameterizedTest
  @MethodSource(SERVERS)
  void whatAHandlerHasPublishedIsStagedTogether(TestDatabase database) {
    Office office = Office.in(database);
    StatementCounter counter = StatementCounter.on(database, office.pool);
    JdbcStore store = JdbcStore.of(counter.dataSource());
    Channel payments =
        Channel.named("payments")
            .on(String.class)
            .handleInTransaction("post", (payment, tx) -> publishMany(tx.delivery()))
            .handleMessage("tell", HandlerPublishTest::publishMany)
            .handleMessage("now", HandlerPublishTest::publishMany, inline())
            .build();
    Outbox outbox = office.sending(store);
    Inbox inbox = Inbox.on(store).lanes(4).outbox(outbox).channel(payments).build();
    counter.reset();
    inbox.accept("payments", Message.of("p-1", "p-1"));
    inbox.drain();

    assertThat(office.staged()).isEqualTo(30);
    assertThat(counter.statements())
        .filteredOn(sql -> sql.contains("INSERT INTO") && sql.contains("pigeonhole_out_message"))
        .hasSize(3);
  }

  private static void publishMany(Received<String> received) {
    IntStream.range(0, 10).forEach(i -> received.publish(order(i)));
  }

  @ParameterizedTest
  @MethodSource(POSTGRES)
  void correlationCausationAndTraceTravelOn(TestDatabase database) {
    Office office = Office.in(database);
    Outbox outbox = office.sending();
    Channel payments =
        Channel.named("payments")
            .on(String.class)
            .handleInTransaction(
                "post",
                (payment, tx) -> {
                  tx.publish(order(1).id("plain"));
                  tx.publish(order(1).id("own").header("correlation-id", "mine"));
                })
            .build();
    Inbox inbox = inbox(office, outbox).channel(payments).build();
    Map<String, String> trace =
        Map.of("traceparent", "00-4bf9-00f0-01", "tracestate", "a=b", "baggage", "k=v");
    inbox.accept(
        "payments",
        Message.of("p-1", "first").headers(Headers.of(trace)).header("correlation-id", "c-17"));
    inbox.drain();
    outbox.drain();

    Envelope plain = envelope(office, "plain");
    assertThat(plain.headers().get("correlation-id")).isEqualTo("c-17");
    assertThat(plain.headers().get("causation-id")).isEqualTo("p-1");
    assertThat(plain.headers().asMap()).containsAllEntriesOf(trace);
    assertThat(envelope(office, "own").headers().get("correlation-id")).isEqualTo("mine");
  }

  /** Whichever way it is published, and also where the first of a chain named no correlation. */
  @ParameterizedTest
  @MethodSource(POSTGRES)
  void theFirstMessageOfAChainGivesAllOthersItsId(TestDatabase database) {
    Office office = Office.in(database);
    Outbox outbox = office.sending();
    Channel payments =
        Channel.named("payments")
            .on(String.class)
            .handleInTransaction("post", (payment, tx) -> tx.publish(order(1).id("tx")))
            .handleMessage("tell", received -> received.publish(order(2).id("received")))
            .handleMessage("now", received -> received.publish(order(3).id("inline")), inline())
            .build();
    Inbox inbox = inbox(office, outbox).channel(payments).build();
    inbox.accept("payments", Message.of("p-1", "first"));
    inbox.drain();
    outbox.drain();

    for (String id : List.of("tx", "received", "inline")) {
      assertThat(envelope(office, id).headers().asMap())
          .as(id)
          .containsEntry("correlation-id", "p-1")
          .containsEntry("causation-id", "p-1");
    }
  }

  private static Envelope envelope(Office office, String id) {
    return office.transport.given().stream()
        .filter(each -> each.id().orElseThrow().equals(id))
        .findFirst()
        .orElseThrow();
  }

  @ParameterizedTest
  @MethodSource(POSTGRES)
  void aMessageWithoutARouteFailsTheAttemptAndNothingCommits(TestDatabase database) {
    Office office = Office.in(database).withEffects();
    Outbox outbox = office.sending();
    Channel payments =
        Channel.named("payments")
            .on(String.class)
            .handleInTransaction(
                "post",
                (payment, tx) -> {
                  Office.effect(tx.connection(), payment);
                  tx.publish(Message.of("nobody takes text"));
                },
                retrying(ONCE))
            .handleMessage(
                "tell", received -> received.publish(Message.of("nor this")), retrying(ONCE))
            .build();
    Inbox inbox = inbox(office, outbox).channel(payments).build();
    inbox.accept("payments", Message.of("p-1", "p-1"));
    inbox.drain();

    assertThat(inbox.admin().poisoned(10))
        .hasSize(2)
        .allSatisfy(
            it ->
                assertThat(it.lastFailure().orElseThrow().code())
                    .isEqualTo(ErrorCode.ROUTE_UNKNOWN));
    assertThat(office.effects()).isZero();
  }

  @ParameterizedTest
  @MethodSource(POSTGRES)
  void withoutAnOutboxNothingCanBePublished(TestDatabase database) {
    Office office = Office.in(database);
    Channel payments =
        Channel.named("payments")
            .on(String.class)
            .handleInTransaction("post", (payment, tx) -> tx.publish(order(1)), retrying(ONCE))
            .handleMessage("tell", received -> received.publish(order(1)), inline())
            .build();
    Inbox inbox = Inbox.on(office.store).lanes(4).channel(payments).build();
    Acceptance answer = inbox.accept("payments", Message.of("p-1", "p-1"));
    inbox.drain();

    assertThat(answer).isInstanceOf(Acceptance.Unfinished.class);
    assertThat(inbox.admin().poisoned(10))
        .singleElement()
        .satisfies(
            it ->
                assertThat(it.lastFailure().orElseThrow().code())
                    .isEqualTo(ErrorCode.OUTBOX_MISSING));
  }

  @ParameterizedTest
  @MethodSource(POSTGRES)
  void anOutboxInAnotherDatabaseIsRefused(TestDatabase database) {
    Office office = Office.in(database);
    Outbox outbox = office.sending();
    try (TestDatabase other = TestDatabases.open(DatabaseKind.H2)) {
      Office elsewhere = Office.in(other);
      Channel payments =
          Channel.named("payments").on(String.class).handle("post", payment -> {}).build();

      assertThatThrownBy(() -> inbox(elsewhere, outbox).channel(payments).build())
          .isInstanceOf(ConfigurationException.class)
          .hasMessageContaining("PH-OBX-02");
      assertThatThrownBy(() -> Guard.on(elsewhere.store).lanes(4).outbox(outbox).build())
          .isInstanceOf(ConfigurationException.class)
          .hasMessageContaining("PH-OBX-02");
    }
    Inbox other =
        Inbox.on(JdbcStore.of(database.dataSource()))
            .lanes(4)
            .outbox(outbox)
            .channel(Channel.named("p").on(String.class).handle("post", payment -> {}).build())
            .build();
    assertThat(other.name()).isEqualTo("inbox"); // another pool of the same database will do
  }

  @ParameterizedTest
  @MethodSource(POSTGRES)
  void aRunningOutboxIsWokenByTheCommitOfAHandler(TestDatabase database) {
    Office office = Office.in(database);
    Outbox outbox =
        office
            .outbox()
            .route(OrderPlaced.class, office.transport)
            .polling(Duration.ofMinutes(5), Duration.ofMinutes(5))
            .build();
    Channel payments =
        Channel.named("payments")
            .on(String.class)
            .handleInTransaction("post", (payment, tx) -> tx.publish(order(1)))
            .handleMessage("tell", received -> received.publish(order(2)))
            .handleMessage("now", received -> received.publish(order(3)), inline())
            .build();
    Inbox inbox = inbox(office, outbox).channel(payments).build();
    try (RunningInbox sending = outbox.start();
        RunningInbox handling = inbox.start()) {
      Eventually.until(PATIENCE, () -> sending.healthy() && handling.healthy());
      inbox.accept("payments", Message.of("p-1", "p-1"));
      Eventually.until("all three", PATIENCE, () -> office.transport.confirmedIds().size() == 3);
    }
  }

  @ParameterizedTest
  @MethodSource(POSTGRES)
  void publishingAfterTheAttemptHasEndedIsRefused(TestDatabase database) {
    Office office = Office.in(database);
    Outbox outbox = office.sending();
    Map<String, Received<String>> kept = new ConcurrentHashMap<>();
    Channel payments =
        Channel.named("payments")
            .on(String.class)
            .handleInTransaction("post", (payment, tx) -> kept.put("post", tx.delivery()))
            .handleMessage("tell", received -> kept.put("tell", received))
            .handleMessage("now", received -> kept.put("now", received), inline())
            .handleMessage(
                "fail",
                received -> {
                  kept.put("fail", received);
                  throw new IllegalStateException("on purpose");
                },
                retrying(ONCE))
            .build();
    Inbox inbox = inbox(office, outbox).channel(payments).build();
    inbox.accept("payments", Message.of("p-1", "p-1"));
    inbox.drain();

    assertThat(kept).hasSize(4);
    kept.forEach(
        (handler, received) ->
            assertThatThrownBy(() -> received.publish(order(1)))
                .as(handler)
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("'" + handler + "' publishes after its attempt has ended"));
    assertThat(office.staged()).isZero();
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void aGuardBodyThatSwallowsWhatCannotGoOutHasNotRun(TestDatabase database) throws Exception {
    Office office = Office.in(database).withEffects();
    Outbox outbox = office.sending();
    GuardKey key = GuardKey.of("charge", OrderPlaced.class, "o-1");
    try (Guard guard = Guard.on(office.store).lanes(4).outbox(outbox).build()) {
      assertThatThrownBy(() -> guard.run(key, tx -> swallowing(tx, Message.of("no route"))))
          .isInstanceOf(InboxException.class)
          .hasMessageStartingWith("PH-OBX-01");
      assertThat(office.effects()).isZero();

      office.loseOutbox();
      assertThatThrownBy(() -> guard.run(key, tx -> swallowing(tx, order(1))))
          .isInstanceOf(StoreException.class);
      assertThat(office.effects()).isZero();

      office.findOutbox();
      assertThat(guard.run(key, tx -> swallowing(tx, order(1)))).isInstanceOf(Guarded.Ran.class);
    }
    assertThat(office.effects()).isEqualTo(1);
    assertThat(office.staged()).isEqualTo(1);
  }

  private static String swallowing(GuardTransaction tx, Message message) throws SQLException {
    Office.effect(tx.connection(), "charged");
    try {
      return tx.publish(message);
    } catch (InboxException e) {
      return "as if nothing had happened";
    }
  }

  @ParameterizedTest
  @MethodSource(SERVERS)
  void whatTheOutboxWillNeverTakeCountsAndPoisons(TestDatabase database) {
    Office office = Office.in(database);
    Outbox outbox = office.timed().route(OrderPlaced.class, office.transport).build();
    RetryPolicy twice = RetryPolicy.fixed(Duration.ofMinutes(1)).maxAttempts(2);
    AtomicInteger runs = new AtomicInteger();
    Channel payments =
        Channel.named("payments")
            .on(String.class)
            .handleInTransaction(
                "post",
                (payment, tx) -> {
                  runs.incrementAndGet();
                  tx.publish(order(1));
                },
                retrying(twice))
            .handleMessage(
                "tell",
                received -> {
                  runs.incrementAndGet();
                  received.publish(order(2));
                },
                retrying(twice))
            .build();
    Inbox inbox =
        Inbox.on(office.store.clock(office.clock))
            .lanes(4)
            .outbox(outbox)
            .channel(payments)
            .build();
    office.loseOutbox();
    inbox.accept("payments", Message.of("p-1", "p-1"));
    inbox.drain();
    office.clock.advance(Duration.ofSeconds(1));
    inbox.drain();
    assertThat(runs).as("runs before the backoff is over").hasValue(2);

    office.clock.advance(Duration.ofMinutes(1));
    inbox.drain();
    assertThat(runs).hasValue(4);
    assertThat(inbox.admin().poisoned(10)).hasSize(2);
  }

  @ParameterizedTest
  @MethodSource(POSTGRES)
  void anOutboxThatCannotBeWokenFailsNoCommittedAttempt(TestDatabase database) throws Exception {
    Office office = Office.in(database);
    Outbox outbox = office.sending();
    Publisher asleep =
        new Publisher() {
          @Override
          public String publish(Connection connection, Message message) {
            return outbox.publish(connection, message);
          }

          @Override
          public boolean commitsWith(InboxStore store) {
            return outbox.commitsWith(store);
          }

          @Override
          public void wake() {
            throw new IllegalStateException("asleep");
          }
        };
    List<InboxEvent> told = new CopyOnWriteArrayList<>();
    Channel payments =
        Channel.named("payments")
            .on(String.class)
            .handleInTransaction("post", (payment, tx) -> tx.publish(order(1)), retrying(ONCE))
            .handleMessage("tell", received -> received.publish(order(2)), retrying(ONCE))
            .build();
    Inbox inbox =
        Inbox.on(office.store)
            .lanes(4)
            .outbox(asleep)
            .channel(payments)
            .listener(told::add)
            .build();
    inbox.accept("payments", Message.of("p-1", "p-1"));
    inbox.drain();
    try (Guard guard = Guard.on(office.store).lanes(4).outbox(asleep).build()) {
      GuardKey key = GuardKey.of("charge", OrderPlaced.class, "o-1");
      assertThat(guard.run(key, tx -> tx.publish(order(3)))).isInstanceOf(Guarded.Ran.class);
    }

    assertThat(told).filteredOn(InboxEvent.Completed.class::isInstance).hasSize(2);
    assertThat(told)
        .noneMatch(it -> it instanceof InboxEvent.Failed || it instanceof InboxEvent.Poisoned);
    assertThat(office.staged()).isEqualTo(3);
  }

  @Test
  void aTransactionThatKnowsOfNoOutboxSaysSo() {
    GuardTransaction fake =
        new GuardTransaction() {
          @Override
          public Connection connection() {
            throw new UnsupportedOperationException();
          }

          @Override
          public String idempotencyKey() {
            return "k";
          }

          @Override
          public Optional<Duration> timeLeft() {
            return Optional.empty();
          }
        };
    assertThatThrownBy(() -> fake.publish(order(1)))
        .isInstanceOf(InboxException.class)
        .hasMessageStartingWith("PH-OBX-02");
  }
}
