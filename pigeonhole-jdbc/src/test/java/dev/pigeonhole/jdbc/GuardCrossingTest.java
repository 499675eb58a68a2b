package dev.pigeonhole.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.pigeonhole.Acceptance;
import dev.pigeonhole.Channel;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.GuardKey;
import dev.pigeonhole.Guarded;
import dev.pigeonhole.HandlerKey;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.Message;
import dev.pigeonhole.PoisonException;
import dev.pigeonhole.RunningInbox;
import dev.pigeonhole.TypeBuilder;
import dev.pigeonhole.admin.Count;
import dev.pigeonhole.admin.DeliveryState;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.DuplicateRows;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.support.LockWaits;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** One handler in both modes: what the one has done, or is about to do, the other knows. */
class GuardCrossingTest {
  private static final String ALL = "dev.pigeonhole.support.TestDatabases#all";

  private final AtomicReference<String> notified = new AtomicReference<>();
  private final CountDownLatch charging = new CountDownLatch(1);
  private volatile CountDownLatch mayCharge = new CountDownLatch(0);
  private GuardRig rig;
  private Inbox inbox;

  private void open(TestDatabase database) {
    rig = GuardRig.on(database, options -> options.waitAtMost(Duration.ofSeconds(20)));
    inbox = inbox();
  }

  private Inbox inbox() {
    return Inbox.on(rig.store)
        .channel(
            Channel.named("charges")
                .on(String.class)
                .named("charge")
                .keyedBy(key -> key)
                .handleInTransaction(
                    GuardRig.HANDLER,
                    (key, tx) -> {
                      if (key.startsWith("bad")) {
                        throw new PoisonException("no such card");
                      }
                      GuardRig.write(tx.connection(), key);
                      charging.countDown();
                      mayCharge.await();
                    })
                .handle("notify", notified::set)
                .build())
        .beat(Duration.ofMillis(200))
        .deadAfter(Duration.ofSeconds(20))
        .build();
  }

  @AfterEach
  void close() {
    rig.close();
  }

  private Guarded<Integer> charge(String key) throws SQLException {
    return rig.guard.run(
        GuardRig.key(key),
        tx -> {
          GuardRig.write(tx, key);
          return 1;
        });
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void whatTheInboxHasDeliveredIsARepeatForTheGuard(TestDatabase database) throws SQLException {
    open(database);
    inbox.accept("charges", Message.of("m-1", "k-1"));
    inbox.drain();

    assertThat(charge("k-1")).isInstanceOf(Guarded.Repeat.class);
    assertThat(rig.effects("k-1")).isOne();
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void whatTheGuardHasRunIsNotDeliveredAndOtherHandlersGetTheirContent(TestDatabase database)
      throws SQLException {
    open(database);
    charge("k-1");

    assertThat(inbox.accept("charges", Message.of("m-1", "k-1")))
        .isInstanceOf(Acceptance.Repeat.class);
    inbox.drain();

    assertThat(rig.effects("k-1")).isOne();
    assertThat(notified).hasValue("k-1");
    assertThat(rig.count("poison")).isZero();
  }

  private static TypeBuilder<String> notes() {
    return Channel.named("notes").on(String.class);
  }

  /** An inbox of another channel, whose only handler is not the guard's. */
  private Inbox inboxOf(TypeBuilder<String> notes) {
    return Inbox.on(rig.store).channel(notes.handle("notify", notified::set).build()).build();
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void id08_whatAGuardWasAskedForIsNotTheContentOfTheMessage(TestDatabase database) {
    rig = GuardRig.on(database);
    GuardKey asked = GuardKey.ofMessage(GuardRig.HANDLER, "notes", "m-1").request("POST /notes");
    rig.guard.run(asked, tx -> 1);

    assertThat(inboxOf(notes()).accept("notes", Message.of("m-1", "hello")))
        .isInstanceOf(Acceptance.Repeat.class);

    assertThat(rig.count("delivery")).as("for the other handler").isOne();
    assertThat(rig.guard.run(asked, tx -> 2)).isInstanceOf(Guarded.Repeat.class);
    assertThat(rig.guard.run(asked.request("PUT /notes"), tx -> 3))
        .isInstanceOf(Guarded.Conflict.class);
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void id08_aMessageThatWasAcceptedMeanwhileMakesNoConflictOfARepeat(TestDatabase database) {
    open(database);
    GuardKey asked = GuardRig.key("k-1").request("100 EUR");
    rig.guard.run(asked, tx -> 1);
    inbox.accept("charges", Message.of("m-1", "k-1"));

    assertThat(rig.guard.run(asked, tx -> 2)).isInstanceOf(Guarded.Repeat.class);
    assertThat(rig.guard.run(asked.request("900 EUR"), tx -> 3))
        .isInstanceOf(Guarded.Conflict.class);
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void aMessageThatOnlyAGuardHasSeenIsDeliveredAsWhatItIs(TestDatabase database) {
    rig = GuardRig.on(database);
    Inbox other = inboxOf(notes().named("note"));
    rig.guard.run(GuardKey.ofMessage(GuardRig.HANDLER, "notes", "m-1"), tx -> 1);

    other.accept("notes", Message.of("m-1", "hello"));
    other.drain();

    assertThat(notified).hasValue("hello");
    assertThat(rig.count("poison")).isZero();
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void id08_ofTwoContentsInOneBatchTheFirstIsThatOfWhatAGuardHasSeen(TestDatabase database) {
    rig = GuardRig.on(database);
    Inbox other = inboxOf(notes().named("note"));
    rig.guard.run(GuardKey.ofMessage(GuardRig.HANDLER, "notes", "m-1"), tx -> 1);

    assertThat(other.accept("notes", List.of(Message.of("m-1", "hello"), Message.of("m-1", "bye"))))
        .extracting(Object::getClass)
        .containsExactly(Acceptance.Repeat.class, Acceptance.Conflict.class);
    other.drain();

    assertThat(notified).hasValue("hello");
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void aMessageThatAGuardHasSeenUnderItsOldestTypeIsNotTakenForAnOldOne(TestDatabase database) {
    rig = GuardRig.on(database);
    Inbox other =
        inboxOf(
            notes()
                .named("charge.v2")
                .upcast("charge", String.class, old -> "in the old form: " + old)
                .keyedBy(key -> key));
    rig.guard.run(GuardRig.key("k-1"), tx -> 1);

    other.accept("notes", Message.of("m-1", "k-1"));
    other.drain();

    assertThat(notified).hasValue("k-1");
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void aMessageThatAGuardHasSeenKeepsItsPlaceInTheOrderOfOthers(TestDatabase database) {
    rig = GuardRig.on(database);
    Inbox other = inboxOf(notes().named("note").orderedBy(note -> "one after the other"));
    for (int i = 0; i < 3; i++) {
      rig.guard.run(GuardKey.ofMessage(GuardRig.HANDLER, "notes", "m-" + i), tx -> 1);
    }

    for (int i = 0; i < 4; i++) { // the last one is new
      other.accept("notes", Message.of("m-" + i, "hello"));
    }

    String deliveries = GuardRig.table(database, "delivery");
    assertThat(database.count("SELECT COUNT(*) FROM " + deliveries + " WHERE key_hash IS NOT NULL"))
        .isEqualTo(4);
    assertThat(database.count("SELECT COUNT(DISTINCT lane) FROM " + deliveries)).isOne();
    assertThat(database.count("SELECT COUNT(DISTINCT key_hash) FROM " + deliveries)).isOne();
    assertThat(
            database.count(
                "SELECT COUNT(DISTINCT lane) FROM " + GuardRig.table(database, "message")))
        .isOne();
    other.drain();
    assertThat(rig.count("delivery")).isZero();
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void aPendingDeliveryIsTakenOver(TestDatabase database) throws SQLException {
    open(database);
    inbox.accept("charges", Message.of("m-1", "k-1"));

    assertThat(charge("k-1")).isInstanceOf(Guarded.Ran.class);
    inbox.drain();

    assertThat(rig.effects("k-1")).isOne();
    assertThat(notified).as("its sibling").hasValue("k-1");
    assertThat(rig.count("delivery")).isZero();
    assertThat(rig.count("receipt")).isEqualTo(2);
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void aDeliveryThatIsDueLaterIsTakenOver(TestDatabase database) throws SQLException {
    open(database);
    inbox.accept(
        "charges", Message.of("m-1", "k-1").notBefore(Instant.now().plus(Duration.ofHours(1))));

    assertThat(charge("k-1")).isInstanceOf(Guarded.Ran.class);
    assertThat(rig.count("later")).as("its sibling's alone").isOne();
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void whoeverTakesADeliveryOverUnderANewNameKeepsItsIdempotencyKey(TestDatabase database) {
    open(database);
    HandlerKey renamed = HandlerKey.of("charge-v2").formerly(GuardRig.HANDLER);
    List<String> seen = new ArrayList<>();
    Inbox inline =
        Inbox.on(rig.store)
            .channel(
                Channel.named("charges")
                    .inline()
                    .on(String.class)
                    .named("charge")
                    .keyedBy(key -> key)
                    .handleMessage(renamed, received -> seen.add(received.idempotencyKey()))
                    .build())
            .build();
    for (String id : List.of("k-1", "k-2")) {
      try {
        rig.guard.run(
            GuardRig.key(id),
            tx -> {
              seen.add(tx.idempotencyKey());
              throw new IllegalStateException("not now");
            });
      } catch (IllegalStateException e) {
        assertThat(e).hasMessage("not now");
      }
      inbox.accept("charges", Message.of("m-" + id, id));
    }

    rig.guard.run(
        GuardKey.of("charge-v2", "charge", "k-1").formerly(GuardRig.HANDLER),
        tx -> seen.add(tx.idempotencyKey()));
    inline.accept("charges", Message.of("m-k-2", "k-2"));

    assertThat(seen).hasSize(4);
    assertThat(seen.get(2)).as("under a guard").isEqualTo(seen.get(0));
    assertThat(seen.get(3)).as("inline").isEqualTo(seen.get(1));
    assertThat(rig.count("delivery")).as("of the sibling").isEqualTo(2);
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void aGuardThatFailsLeavesThePendingDelivery(TestDatabase database) {
    open(database);
    inbox.accept("charges", Message.of("m-1", "k-1"));
    IllegalStateException own = new IllegalStateException("not now");
    assertThatThrownBy(
            () ->
                rig.guard.run(
                    GuardRig.key("k-1"),
                    tx -> {
                      throw own;
                    }))
        .isSameAs(own);
    inbox.drain();
    assertThat(rig.effects("k-1")).isOne();
  }

  /** A procedure that the body calls commits, and takes nothing away that was accepted. */
  @ParameterizedTest
  @EnumSource(names = {"MARIADB", "H2"})
  void d125_aDeliveryWhoseTakeoverWasCommittedTooEarlyIsStillThere(DatabaseKind kind) {
    open(TestDatabases.open(kind));
    rig.createProcedures();
    inbox.accept("charges", Message.of("m-1", "k-1"));

    assertThatExceptionOfType(InboxException.class)
        .isThrownBy(
            () ->
                rig.guard.run(
                    GuardRig.key("k-1"),
                    tx -> {
                      try (Statement statement = tx.connection().createStatement()) {
                        statement.execute("CALL sneaky()");
                      }
                      return 1;
                    }))
        .satisfies(e -> assertThat(e.code()).isEqualTo(ErrorCode.TX_LOST));

    assertThat(rig.count("delivery")).as("its own and its sibling's").isEqualTo(2);
    inbox.drain();
    assertThat(rig.effects("k-1")).isOne();
    assertThat(rig.count("receipt")).isEqualTo(2);
  }

  /** As a process leaves them that dies after a procedure of its body has committed. */
  private void leaveReceiptsRunning() {
    rig.database.execute("UPDATE %s SET outcome = 2".formatted(table("receipt")));
  }

  private String table(String name) {
    return GuardRig.table(rig.database, name);
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void d125_aReceiptThatWasLeftRunningIsNoRepeatForTheGuard(TestDatabase database)
      throws SQLException {
    open(database);
    rig.guard.run(GuardRig.key("k-1"), tx -> 1);
    leaveReceiptsRunning();

    assertThat(inbox.admin().counts())
        .allSatisfy(each -> assertThat(each.completed()).isEqualTo(Count.of(0)));
    assertThat(charge("k-1")).isEqualTo(new Guarded.Ran<>(1));
    assertThat(charge("k-1")).isInstanceOf(Guarded.Repeat.class);
    assertThat(rig.effects("k-1")).isOne();
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void d125_aReceiptThatWasLeftRunningKeepsNoDeliveryAway(TestDatabase database)
      throws SQLException {
    open(database);
    for (String handler : List.of(GuardRig.HANDLER, "notify")) {
      rig.guard.run(GuardKey.of(handler, "charge", "k-1"), tx -> 1);
    }
    leaveReceiptsRunning();

    inbox.accept("charges", Message.of("m-1", "k-1"));
    inbox.drain();

    assertThat(rig.effects("k-1")).isOne();
    assertThat(notified).hasValue("k-1");
    assertThat(
            rig.database.count(
                "SELECT COUNT(*) FROM %s WHERE outcome = 0 AND token = 0"
                    .formatted(table("receipt"))))
        .as("both are finished")
        .isEqualTo(2);
    assertThat(charge("k-1")).isInstanceOf(Guarded.Repeat.class);
    assertThat(rig.effects("k-1")).isOne();
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void d125_whatIsPoisonedBesideAReceiptThatWasLeftRunningCanBeDiscarded(TestDatabase database)
      throws SQLException {
    open(database);
    rig.guard.run(GuardRig.key("bad-1"), tx -> 1);
    leaveReceiptsRunning();
    inbox.accept("charges", Message.of("m-1", "bad-1"));
    inbox.drain();

    assertThat(charge("bad-1"))
        .isInstanceOfSatisfying(
            Guarded.Repeat.class,
            repeat -> assertThat(repeat.state()).isEqualTo(DeliveryState.POISONED));
    assertThat(inbox.admin().discard("key of charge", "bad-1", GuardRig.HANDLER, "no such card"))
        .isTrue();

    assertThat(charge("bad-1"))
        .isInstanceOfSatisfying(
            Guarded.Repeat.class,
            repeat -> assertThat(repeat.state()).isEqualTo(DeliveryState.DISCARDED));
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void aPoisonedDeliveryIsARepeatAndDoesNotRun(TestDatabase database) throws SQLException {
    open(database);
    inbox.accept("charges", Message.of("m-1", "bad-1"));
    inbox.drain();

    assertThat(charge("bad-1"))
        .isInstanceOfSatisfying(
            Guarded.Repeat.class,
            repeat -> assertThat(repeat.state()).isEqualTo(DeliveryState.POISONED));
    assertThat(rig.effects("bad-1")).isZero();
    assertThat(rig.count("poison")).isOne();
    assertThat(rig.count("receipt")).as("of its sibling").isOne();
  }

  @ParameterizedTest
  @EnumSource(names = {"POSTGRES", "MARIADB"})
  void aDeliveryThatIsRunningIsWaitedFor(DatabaseKind kind) throws Exception {
    open(TestDatabases.open(kind));
    mayCharge = new CountDownLatch(1);
    inbox.accept("charges", Message.of("m-1", "k-1"));
    CompletableFuture<Integer> draining = CompletableFuture.supplyAsync(inbox::drain);
    charging.await();
    CompletableFuture<Guarded<Integer>> guarded =
        CompletableFuture.supplyAsync(
            () -> {
              try {
                return charge("k-1");
              } catch (SQLException e) {
                throw new IllegalStateException(e);
              }
            });
    LockWaits.awaitOne(rig.database);
    mayCharge.countDown();

    assertThat(guarded.get()).isInstanceOf(Guarded.Repeat.class);
    draining.get();
    assertThat(rig.effects("k-1")).isOne();
  }

  @ParameterizedTest
  @EnumSource(names = {"POSTGRES", "MARIADB"})
  void bothModesAtOnceHaveOneEffect(DatabaseKind kind) throws Exception {
    open(TestDatabases.open(kind));
    int keys = Size.of(100, 2_000);
    int copies = 6;
    ExecutorService threads = Executors.newFixedThreadPool(copies);
    try (RunningInbox running = inbox.start()) {
      List<Future<?>> futures = new ArrayList<>();
      for (int copy = 0; copy < copies; copy++) {
        boolean inline = copy % 2 == 0;
        futures.add(
            threads.submit(
                () -> {
                  for (int i = 0; i < keys; i++) {
                    if (inline) {
                      while (charge("k-" + i) instanceof Guarded.Busy) {
                        Thread.onSpinWait();
                      }
                    } else {
                      inbox.accept("charges", Message.of("m-" + i, "k-" + i));
                    }
                  }
                  return null;
                }));
      }
      for (Future<?> each : futures) {
        each.get();
      }
      Eventually.until(
          "nothing is open",
          Duration.ofMinutes(5),
          () -> rig.count("delivery") + rig.count("later") == 0);
    } finally {
      threads.shutdownNow();
    }
    assertThat(rig.database.count("SELECT COUNT(DISTINCT id) FROM effect")).isEqualTo(keys);
    assertThat(rig.database.count("SELECT COUNT(*) FROM effect")).isEqualTo(keys);
    assertThat(DuplicateRows.in(rig.database)).as("standing twice").isEmpty();
    assertThat(rig.count("receipt")).isEqualTo(2L * keys);
    assertThat(rig.count("poison")).isZero();
  }
}
