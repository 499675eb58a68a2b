package dev.pigeonhole.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.Channel;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.Message;
import dev.pigeonhole.PruneListener;
import dev.pigeonhole.RunningInbox;
import dev.pigeonhole.admin.DeliveryState;
import dev.pigeonhole.admin.NodeView;
import dev.pigeonhole.store.AcceptResult;
import dev.pigeonhole.store.AdminChange;
import dev.pigeonhole.store.AdminQueries;
import dev.pigeonhole.store.Operation;
import dev.pigeonhole.store.Outcome;
import dev.pigeonhole.store.Place;
import dev.pigeonhole.store.Pruning;
import dev.pigeonhole.store.StoredMessage;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.support.StatementCounter;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import dev.pigeonhole.tck.Judge;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Forgetting in a real database: by one at a time, under somebody's slow hands, by any clock. */
@Timeout(600)
@Execution(ExecutionMode.CONCURRENT)
class RetentionTest {
  private static final Duration PATIENCE = Duration.ofMinutes(3);

  private final AtomicReference<Instant> now =
      new AtomicReference<>(Instant.parse("2026-03-04T05:06:07Z"));
  private final List<String> handled = new CopyOnWriteArrayList<>();

  private Inbox inbox(TestDatabase database, PruneListener... listeners) {
    Channel channel = Channel.named("c").on(String.class).handle("h", handled::add).build();
    var builder =
        Inbox.on(JdbcStore.of(database.pool(12)).clock(now::get))
            .channel(channel)
            .beat(Duration.ofMillis(50))
            .deadAfter(Duration.ofSeconds(60))
            .stopGrace(Duration.ofSeconds(5))
            .keepReceipts(Duration.ofDays(1));
    List.of(listeners).forEach(builder::pruneListener);
    return builder.build();
  }

  private static long messages(TestDatabase database) {
    return JdbcStore.of(database.dataSource()).admin().messages();
  }

  /** Deletes whatever is finished, and tells before it does. */
  private static Pruning deleting(Consumer<List<StoredMessage>> before) {
    return new Judge(message -> Pruning.Fate.DELETE, before);
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#servers")
  void b68_v9_t10_whoeverComesWhileAnotherForgetsDoesNothing(TestDatabase database)
      throws Exception {
    Rig rig = Rig.on(database);
    rig.accept(rig.message("m", rig.a));
    assertThat(rig.complete(rig.open(rig.a, 10))).isEmpty();
    CountDownLatch inside = new CountDownLatch(1);
    CountDownLatch goOn = new CountDownLatch(1);
    CompletableFuture<Pruning.Step> first =
        CompletableFuture.supplyAsync(
            () ->
                rig.store
                    .maintenance()
                    .prune(
                        deleting(
                            messages -> {
                              inside.countDown();
                              await(goOn);
                            }),
                        100));
    try {
      await(inside);
      Pruning.Step second =
          rig.store
              .maintenance()
              .prune(
                  deleting(
                      messages -> {
                        throw new AssertionError("two at once");
                      }),
                  100);
      assertThat(second).isEqualTo(Pruning.Step.inTheWay());
      assertThat(rig.count("message")).isEqualTo(1);
    } finally {
      goOn.countDown();
    }
    assertThat(first.get(300, TimeUnit.SECONDS)).isEqualTo(new Pruning.Step(1, 0, false));
    assertThat(rig.count("message")).isZero();
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#servers")
  void aStepThatHangsKeepsNoNewHandlerKeyFromStartingAndNoOperatorFromPurging(TestDatabase database)
      throws Exception {
    Rig rig = Rig.on(database);
    rig.accept(rig.message("old", rig.a));
    rig.complete(rig.open(rig.a, 10));
    long other = ((AcceptResult.Stored) rig.accept(rig.message("other", rig.a))).seq();
    rig.complete(rig.open(rig.a, 10));
    CountDownLatch inside = new CountDownLatch(1);
    CountDownLatch goOn = new CountDownLatch(1);
    Pruning hanging =
        deleting(
            messages -> {
              inside.countDown();
              await(goOn);
            });
    CompletableFuture<Pruning.Step> step =
        CompletableFuture.supplyAsync(() -> rig.store.maintenance().prune(hanging, 1));
    try {
      await(inside);

      assertThat(rig.store.maintenance().register(List.of(List.of("new")))).hasSize(1);
      AdminQueries admin = Rig.on(database, database.pool(4)).store.admin();
      Operation purge = admin.begin(Operation.begun("purge", "other"), "ada", "on request");
      AdminChange change = new AdminChange(AdminChange.Action.PURGE, null, "ada", "on request");
      assertThat(admin.step(purge, change, List.of(new Place(other, 0)), true).changed())
          .isEqualTo(1);
    } finally {
      goOn.countDown();
    }
    assertThat(step.get(300, TimeUnit.SECONDS).deleted()).isEqualTo(1);
    assertThat(rig.count("message")).isZero();
  }

  /** A lock is a write: 191 bytes of WAL for each message on PostgreSQL. */
  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#all")
  void aMessageWhoseContentIsGoneIsLockedAgainOnlyWhenItsReceiptsMayGo(TestDatabase database) {
    InboxTables.in(database);
    StatementCounter counter = StatementCounter.on(database, database.pool(12));
    Inbox inbox =
        Inbox.on(JdbcStore.of(counter.dataSource()).clock(now::get))
            .channel(Channel.named("c").on(String.class).handle("h", handled::add).build())
            .keepPayload(Duration.ofHours(1))
            .keepReceipts(Duration.ofDays(30))
            .build();
    int messages = 40;
    for (int i = 0; i < messages; i++) {
      inbox.accept("c", Message.of("m-" + i, "x"));
    }
    inbox.drain();
    assertThat(locks(counter, inbox, Duration.ofHours(2))).hasSize(1);
    String quote = database.kind() == DatabaseKind.MARIADB ? "`" : "\"";
    String emptied =
        "SELECT count(*) FROM %1$spigeonhole_message%1$s WHERE content IS NULL".formatted(quote);
    assertThat(database.count(emptied)).isEqualTo(messages);

    assertThat(locks(counter, inbox, Duration.ofHours(2))).isEmpty();
    assertThat(locks(counter, inbox, Duration.ofDays(29))).isEmpty();

    assertThat(locks(counter, inbox, Duration.ofDays(1))).hasSize(1);
    assertThat(messages(database)).isZero();
  }

  /** The statements of the next round, so much later, that lock messages. */
  private List<String> locks(StatementCounter counter, Inbox inbox, Duration later) {
    now.updateAndGet(time -> time.plus(later));
    counter.reset();
    inbox.drain();
    return counter.statements().stream()
        .filter(sql -> sql.contains("pigeonhole_message") && sql.contains("FOR UPDATE"))
        .toList();
  }

  private static void completed(Inbox inbox, String id) {
    Eventually.passes(
        PATIENCE,
        () ->
            assertThat(inbox.find("c", id, "h").orElseThrow().state())
                .isEqualTo(DeliveryState.COMPLETED));
  }

  private static void await(CountDownLatch latch) {
    boolean interrupted = false;
    while (true) {
      try {
        if (!latch.await(300, TimeUnit.SECONDS)) {
          throw new AssertionError("waited in vain");
        }
        break;
      } catch (InterruptedException e) {
        interrupted = true; // deaf, as some code of users is
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  /** The server ends silent transactions of the library, but here the code of a user runs. */
  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#servers")
  void aListenerMayTakeLongerThanTheLibraryMayBeSilent(TestDatabase database) {
    InboxTables.in(database);
    CountDownLatch archived = new CountDownLatch(1);
    Inbox inbox =
        inbox(
            database,
            messages -> {
              TimeUnit.SECONDS.sleep(6); // the slow listener itself
              archived.countDown();
            });
    try (RunningInbox running = inbox.start()) {
      inbox.accept("c", Message.of("m", "m"));
      completed(inbox, "m");
      now.updateAndGet(time -> time.plus(Duration.ofDays(2)));
      await(archived);

      Eventually.passes(PATIENCE, () -> assertThat(messages(database)).isZero());
      Eventually.until(Duration.ofMinutes(3), running::healthy);
    }
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#servers")
  void aListenerThatNeverReturnsKeepsNeitherDeliveriesNorAStop(TestDatabase database) {
    InboxTables.in(database);
    CountDownLatch inside = new CountDownLatch(1);
    CountDownLatch goOn = new CountDownLatch(1);
    CountDownLatch left = new CountDownLatch(1);
    Inbox inbox =
        inbox(
            database,
            messages -> {
              inside.countDown();
              await(goOn);
              left.countDown();
            });
    try {
      RunningInbox running = inbox.start();
      inbox.accept("c", Message.of("old", "old"));
      completed(inbox, "old");
      now.updateAndGet(time -> time.plus(Duration.ofDays(2)));
      await(inside);

      inbox.accept("c", Message.of("new", "new"));
      Eventually.passes(PATIENCE, () -> assertThat(handled).containsExactly("old", "new"));
      running.close();
      Eventually.until(
          "the node to have said that it has stopped",
          PATIENCE,
          () ->
              inbox.admin().nodes().stream()
                  .allMatch(node -> node.state() == NodeView.State.STOPPED));
      assertThat(left.getCount()).as("it is still inside").isEqualTo(1);
    } finally {
      goOn.countDown();
    }
    await(left);
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#all")
  void d168_aClockThatIsSetBackMakesNothingOld(TestDatabase database) {
    InboxTables.in(database);
    Inbox inbox = inbox(database);
    Instant start = now.get();
    inbox.accept("c", Message.of("m", "x"));
    inbox.drain();
    assertThat(handled).containsExactly("x");

    now.set(start.minus(Duration.ofDays(10)));
    inbox.drain();
    assertThat(messages(database)).isEqualTo(1);

    now.set(start.plus(Duration.ofDays(1)).minusSeconds(1));
    inbox.drain();
    assertThat(messages(database)).isEqualTo(1);

    now.set(start.plus(Duration.ofDays(1)).plus(Duration.ofHours(2)));
    inbox.drain();
    assertThat(messages(database)).isZero();
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#all")
  void aClockThatWasAheadOnceDoesNotKeepWhatIsOld(TestDatabase database) {
    InboxTables.in(database);
    Inbox inbox = inbox(database);
    Instant start = now.get();
    now.set(start.plus(Duration.ofDays(365)));
    inbox.drain(); // forgets nothing, and notes when
    now.set(start);
    inbox.accept("c", Message.of("m", "x"));
    inbox.drain();

    now.set(start.plus(Duration.ofDays(1)).plus(Duration.ofHours(2)));
    inbox.drain();
    assertThat(messages(database)).isZero();
  }

  /**
   * H2 reads the tables of one statement one after the other, so a row that moves meanwhile can be
   * in none of them. Here it is hidden during the first look and has arrived before the second one.
   */
  @Test
  void whatMovesBetweenTheTwoLooksOfH2IsNotTakenForFinished() {
    try (TestDatabase database = TestDatabases.open(DatabaseKind.H2)) {
      InboxTables.in(database);
      AtomicInteger looks = new AtomicInteger();
      String move = "UPDATE \"pigeonhole_later\" SET seq = -seq";
      Rig rig =
          Rig.on(
              database,
              Intercepted.beforeStatements(
                  database.pool(12),
                  sql -> {
                    if (sql.contains("'poisoned', seq, handler") && looks.incrementAndGet() <= 2) {
                      database.execute(move);
                    }
                  }));
      rig.accept(rig.message("m", rig.a, rig.b));
      assertThat(rig.complete(List.of(rig.only(rig.a)))).isEmpty();
      Outcome retry = new Outcome.RetryAfter(Duration.ZERO, Rig.failure("x"));
      assertThat(rig.settle(List.of(rig.only(rig.b)), retry)).isEmpty();
      looks.set(0);

      int deleted =
          rig.store
              .maintenance()
              .prune(new Judge(message -> Pruning.Fate.DELETE, null), 10)
              .deleted();

      assertThat(deleted).isZero();
      assertThat(looks).as("looks").hasValueGreaterThanOrEqualTo(2);
      assertThat(rig.only(rig.b)).isNotNull();
      assertThat(rig.count("message")).isOne();
    }
  }
}
