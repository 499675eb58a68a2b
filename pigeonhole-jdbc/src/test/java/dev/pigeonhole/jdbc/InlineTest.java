package dev.pigeonhole.jdbc;

import static dev.pigeonhole.HandlerOption.atMost;
import static dev.pigeonhole.HandlerOption.inline;
import static dev.pigeonhole.HandlerOption.pausingAfter;
import static dev.pigeonhole.HandlerOption.perSecond;
import static dev.pigeonhole.HandlerOption.retrying;
import static dev.pigeonhole.HandlerOption.sharedCommits;
import static dev.pigeonhole.HandlerOption.within;
import static java.time.Duration.ZERO;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static java.util.concurrent.TimeUnit.MINUTES;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import com.zaxxer.hikari.HikariDataSource;
import dev.pigeonhole.Acceptance;
import dev.pigeonhole.Channel;
import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.HandlerOption;
import dev.pigeonhole.HandlerTransaction;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.InboxBuilder;
import dev.pigeonhole.Message;
import dev.pigeonhole.RetryPolicy;
import dev.pigeonhole.RunningInbox;
import dev.pigeonhole.TypeBuilder;
import dev.pigeonhole.event.EventCounts;
import dev.pigeonhole.event.InboxEvent;
import dev.pigeonhole.store.StoreException;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Handlers that run where messages are handed in. */
class InlineTest {
  private static final String ALL = "dev.pigeonhole.support.TestDatabases#all";

  private final List<String> called = new CopyOnWriteArrayList<>();
  private final EventCounts counts = EventCounts.create();
  private volatile boolean failing;
  private TestDatabase database;
  private JdbcStore store;

  private void open(TestDatabase fresh) {
    database = fresh;
    InboxTables.in(fresh);
    fresh.execute("CREATE TABLE effect (id VARCHAR(200), note VARCHAR(200))");
    store = JdbcStore.of(fresh.pool(16));
  }

  @AfterEach
  void close() {
    database.close();
  }

  private Inbox inbox(UnaryOperator<TypeBuilder<String>> handlers) {
    return builder(handlers.apply(Channel.named("c").on(String.class).named("text")).build())
        .build();
  }

  private InboxBuilder builder(Channel channel) {
    return Inbox.on(store).channel(channel).listener(counts);
  }

  private void write(String text, HandlerTransaction<String> tx) throws SQLException {
    called.add(tx.delivery().handler());
    GuardRig.write(tx.connection(), tx.delivery().handler());
    if (failing && tx.delivery().handler().equals("b")) {
      throw new IllegalStateException("b is not well");
    }
  }

  private TypeBuilder<String> three(TypeBuilder<String> type) {
    return type.handleInTransaction("a", this::write, inline())
        .handleInTransaction("b", this::write, inline())
        .handleInTransaction("c", this::write, inline());
  }

  private long effects(String handler) {
    return database.count("SELECT COUNT(*) FROM effect WHERE id = ?", handler);
  }

  private long count(String table) {
    return database.count("SELECT COUNT(*) FROM " + GuardRig.table(database, table));
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void m2_v2_handlersRunInTheirOrderBeforeTheMessageIsAccepted(TestDatabase fresh) {
    open(fresh);
    Inbox inbox = inbox(this::three);

    assertThat(inbox.accept("c", Message.of("m-1", "hello")))
        .isInstanceOf(Acceptance.Accepted.class);

    assertThat(called).containsExactly("a", "b", "c");
    assertThat(count("receipt")).isEqualTo(3);
    assertThat(count("delivery")).isZero();
    assertThat(count("unhandled")).isZero();
    assertThat(inbox.accept("c", Message.of("m-1", "hello"))).isInstanceOf(Acceptance.Repeat.class);
    assertThat(called).hasSize(3);
    assertThat(counts.of(InboxEvent.Accepted.class)).isOne();
    assertThat(counts.of(InboxEvent.Repeated.class)).isOne();
    assertThat(counts.of(InboxEvent.GuardRan.class)).isEqualTo(3);
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void anInterruptedHandlerInterruptsNeitherTheNextOneNorTheNextMessage(TestDatabase fresh) {
    open(fresh);
    List<String> interrupted = new CopyOnWriteArrayList<>();
    Inbox inbox =
        inbox(
            type ->
                type.handleInTransaction(
                        "a",
                        (text, tx) -> {
                          note(tx, interrupted);
                          if (text.equals("bad")) {
                            throw new InterruptedException("as a client library says it");
                          }
                        },
                        inline())
                    .handleInTransaction("b", (text, tx) -> note(tx, interrupted), inline()));

    List<Acceptance> answers =
        inbox.accept("c", List.of(Message.of("m-1", "bad"), Message.of("m-2", "good")));

    assertThat(Thread.interrupted()).as("the caller is told in the end").isTrue();
    assertThat(interrupted).isEmpty();
    assertThat(answers.get(0)).isInstanceOf(Acceptance.Unfinished.class);
    assertThat(answers.get(1)).isInstanceOf(Acceptance.Accepted.class);
    assertThat(effects("b")).isEqualTo(2);
  }

  private static void note(HandlerTransaction<String> tx, List<String> interrupted)
      throws SQLException {
    if (Thread.currentThread().isInterrupted()) {
      interrupted.add(tx.delivery().message().id() + " " + tx.delivery().handler());
    }
    GuardRig.write(tx.connection(), tx.delivery().handler());
  }

  @ParameterizedTest
  @EnumSource(names = "POSTGRES")
  void whatIsStoredIsHandedOverBeforeInlineHandlersRun(DatabaseKind kind) throws Exception {
    open(TestDatabases.open(kind));
    CountDownLatch stored = new CountDownLatch(1);
    AtomicBoolean inTime = new AtomicBoolean();
    Channel channel =
        Channel.named("c")
            .on(String.class)
            .named("text")
            .handle("stored", text -> stored.countDown())
            .handle(
                "inline",
                text -> inTime.set(stored.await(3, MINUTES)),
                inline(),
                within(ofMinutes(5)))
            .build();
    Inbox inbox = builder(channel).polling(ofMinutes(10), ofMinutes(10)).build();
    try (RunningInbox running = inbox.start()) {
      inbox.accept("c", Message.of("m-1", "hello"));

      assertThat(inTime).as("the stored handler did not wait for the inline one").isTrue();
      Eventually.until(Duration.ofMinutes(3), running::healthy);
    }
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void b10_oneThatFailsNeitherUndoesNorSkipsTheOthersAndAloneRunsAgain(TestDatabase fresh) {
    open(fresh);
    Inbox inbox = inbox(this::three);
    failing = true;

    assertThat(inbox.accept("c", Message.of("m-1", "hello")))
        .isInstanceOfSatisfying(
            Acceptance.Unfinished.class,
            unfinished -> {
              assertThat(unfinished.failures()).containsOnlyKeys("b");
              assertThat(unfinished.failures().get("b").message()).contains("b is not well");
            });
    assertThat(called).containsExactly("a", "b", "c");
    assertThat(effects("b")).as("rolled back").isZero();

    failing = false;
    assertThat(inbox.accept("c", Message.of("m-1", "hello")))
        .isInstanceOf(Acceptance.Accepted.class);
    assertThat(called).containsExactly("a", "b", "c", "b");
    assertThat(List.of(effects("a"), effects("b"), effects("c"))).containsOnly(1L);
  }

  @ParameterizedTest
  @EnumSource(names = {"POSTGRES", "MARIADB"})
  void oneThatRunsOutOfStackFailsAlone(DatabaseKind kind) {
    open(TestDatabases.open(kind));
    Inbox inbox =
        inbox(
            type ->
                type.handleInTransaction(
                        "deep",
                        (text, tx) -> {
                          GuardRig.write(tx.connection(), "deep");
                          throw new StackOverflowError();
                        },
                        inline())
                    .handleInTransaction("a", this::write, inline()));

    assertThat(inbox.accept("c", Message.of("m-1", "hello")))
        .isInstanceOfSatisfying(
            Acceptance.Unfinished.class,
            unfinished -> assertThat(unfinished.failures()).containsOnlyKeys("deep"));
    assertThat(effects("deep")).as("rolled back").isZero();
    assertThat(effects("a")).isOne();
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void storedSiblingsAreCommittedWhateverBecomesOfInlineOnes(TestDatabase fresh) {
    open(fresh);
    Inbox inbox =
        inbox(
            type ->
                type.handle("stored", text -> called.add("stored"))
                    .handleInTransaction("b", this::write, inline()));
    failing = true;

    assertThat(inbox.accept("c", Message.of("m-1", "hello")))
        .isInstanceOf(Acceptance.Unfinished.class);
    assertThat(count("delivery")).isOne();
    inbox.drain();
    failing = false;
    assertThat(inbox.accept("c", Message.of("m-1", "hello"))).isInstanceOf(Acceptance.Repeat.class);
    inbox.drain();

    assertThat(called).containsExactly("b", "stored", "b");
    assertThat(count("receipt")).isEqualTo(2);
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void aHandlerCanMoveBetweenTheModes(TestDatabase fresh) {
    open(fresh);
    Inbox stored = inbox(type -> type.handleInTransaction("a", this::write));
    stored.accept("c", Message.of("m-1", "hello"));
    stored.accept("c", Message.of("m-2", "hello"));
    Inbox moved =
        builder(
                Channel.named("c")
                    .inline()
                    .on(String.class)
                    .named("text")
                    .handleInTransaction("a", this::write)
                    .build())
            .build();

    moved.accept("c", Message.of("m-1", "hello")); // comes again, and is taken over
    assertThat(called).hasSize(1);
    moved.drain(); // runs what was stored before
    moved.accept("c", Message.of("m-2", "hello"));
    moved.accept("c", Message.of("m-3", "hello"));
    stored.accept("c", Message.of("m-3", "hello"));
    stored.drain();

    assertThat(called).hasSize(3);
    assertThat(effects("a")).isEqualTo(3);
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void otherContentUnderAKnownIdIsAConflictAndKept(TestDatabase fresh) {
    open(fresh);
    Inbox inbox = inbox(this::three);
    inbox.accept("c", Message.of("m-1", "hello"));

    assertThat(inbox.accept("c", Message.of("m-1", "something else")))
        .isInstanceOf(Acceptance.Conflict.class);
    assertThat(called).hasSize(3);
    assertThat(inbox.admin().conflicts(10)).hasSize(1);
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void aHandlerThatIsDeployedLaterGetsTheContentThatARepeatBrings(TestDatabase fresh) {
    open(fresh);
    inbox(this::three).accept("c", Message.of("m-1", "hello"));
    List<String> late = new CopyOnWriteArrayList<>();
    Inbox later = inbox(type -> three(type).handle("late", late::add));

    later.accept("c", Message.of("m-1", "hello"));
    later.drain();

    assertThat(late).containsExactly("hello");
    assertThat(called).hasSize(3);
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void inlineHandlersJoinTheTransactionOfACaller(TestDatabase fresh) throws SQLException {
    open(fresh);
    Inbox inbox = inbox(this::three);
    try (Connection connection = database.dataSource().getConnection()) {
      connection.setAutoCommit(false);
      inbox.accept(connection, "c", Message.of("m-1", "hello"));
      connection.rollback();
      assertThat(count("receipt") + count("message") + effects("a")).isZero();
      inbox.accept(connection, "c", Message.of("m-1", "hello"));
      connection.commit();
    }
    assertThat(count("receipt")).isEqualTo(3);
    assertThat(effects("a")).isOne();
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void inACallersTransactionOneThatFailsTakesNothingElseWithIt(TestDatabase fresh)
      throws SQLException {
    open(fresh);
    Inbox inbox = inbox(this::three);
    failing = true;
    try (Connection connection = database.dataSource().getConnection()) {
      connection.setAutoCommit(false);
      GuardRig.write(connection, "caller");
      assertThat(inbox.accept(connection, "c", Message.of("m-1", "hello")))
          .isInstanceOf(Acceptance.Unfinished.class);
      connection.commit();
    }
    assertThat(List.of(effects("caller"), effects("a"), effects("b"), effects("c")))
        .containsExactly(1L, 1L, 0L, 1L);
    assertThat(count("receipt")).isEqualTo(2);
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void inABatchEveryMessageHasItsOwnAnswer(TestDatabase fresh) {
    open(fresh);
    Inbox inbox =
        inbox(
            type ->
                type.handle(
                    "a",
                    text -> {
                      called.add(text);
                      if (text.equals("bad")) {
                        throw new IllegalStateException("a is not well");
                      }
                    },
                    inline()));

    assertThat(
            inbox.accept(
                "c",
                List.of(
                    Message.of("m-1", "good"),
                    Message.of("m-2", "bad"),
                    Message.of("m-1", "good"),
                    Message.of(null, "lost"),
                    Message.of("m-3", "better"))))
        .extracting(answer -> answer.getClass().getSimpleName())
        .containsExactly("Accepted", "Unfinished", "Repeat", "Rejected", "Accepted");
    assertThat(called).containsExactly("good", "bad", "better");
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void aHandlerSeesHowMuchOfItsTimeIsLeft(TestDatabase fresh) throws SQLException {
    open(fresh);
    List<Optional<Duration>> left = new CopyOnWriteArrayList<>();
    Inbox inbox =
        inbox(
            type ->
                type.handleMessage("a", received -> left.add(received.timeLeft()), inline())
                    .handleMessage(
                        "b",
                        received -> left.add(received.timeLeft()),
                        inline(),
                        within(Duration.ofMinutes(2))));
    inbox.accept("c", Message.of("m-1", "hello"));
    try (Connection mine = database.dataSource().getConnection()) {
      mine.setAutoCommit(false);
      inbox.accept(mine, "c", Message.of("m-2", "hello"));
      mine.rollback();
    }

    assertThat(left.get(0))
        .hasValueSatisfying(time -> assertThat(time).isBetween(ZERO, ofSeconds(30)));
    assertThat(left.get(1))
        .hasValueSatisfying(time -> assertThat(time).isGreaterThan(ofSeconds(30)));
    assertThat(left.subList(2, 4))
        .as("the transaction is the caller's")
        .containsOnly(Optional.empty());
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void aDatabaseThatIsGoneIsToldAsAFailureToo(TestDatabase fresh) {
    open(fresh);
    HikariDataSource pool = database.pool(4);
    Inbox inbox =
        Inbox.on(JdbcStore.of(pool))
            .channel(Channel.named("c").inline().on(String.class).handle("a", text -> {}).build())
            .listener(counts)
            .build();
    pool.close();

    assertThatExceptionOfType(StoreException.class)
        .isThrownBy(() -> inbox.accept("c", Message.of("m-1", "hello")));

    assertThat(counts.of(InboxEvent.GuardFailed.class)).isOne();
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void aHandlerThatTakesTooLongIsUnfinished(TestDatabase fresh) {
    open(fresh);
    AtomicBoolean went = new AtomicBoolean();
    Inbox inbox =
        inbox(
            type ->
                type.handleInTransaction(
                    "slow",
                    (text, tx) -> {
                      // Goes on until its connection is taken away, but not for ever.
                      long end = System.nanoTime() + Duration.ofMinutes(1).toNanos();
                      while (System.nanoTime() < end) {
                        GuardRig.write(tx.connection(), "slow");
                      }
                      went.set(true);
                    },
                    inline(),
                    within(Duration.ofMillis(200))));

    assertThat(inbox.accept("c", Message.of("m-1", "hello")))
        .isInstanceOfSatisfying(
            Acceptance.Unfinished.class,
            unfinished ->
                assertThat(unfinished.failures().get("slow").code())
                    .isEqualTo(ErrorCode.GUARD_TIME_LIMIT));
    assertThat(went).as("went on after its time").isFalse();
    assertThat(effects("slow")).isZero();
  }

  @ParameterizedTest
  @EnumSource(names = {"POSTGRES", "MARIADB"})
  void b63_ph_grd_04_aCopyThatIsStillUnderWayIsWaitedForAndThenUnfinished(DatabaseKind kind)
      throws SQLException {
    open(TestDatabases.open(kind));
    Inbox inbox = inbox(type -> type.handleInTransaction("a", this::write, inline()));
    try (Connection connection = database.dataSource().getConnection()) {
      connection.setAutoCommit(false);
      inbox.accept(connection, "c", Message.of("m-1", "hello"));

      assertThat(inbox.accept("c", Message.of("m-1", "hello")))
          .isInstanceOfSatisfying(
              Acceptance.Unfinished.class,
              unfinished ->
                  assertThat(unfinished.failures().get("a").code())
                      .isEqualTo(ErrorCode.GUARD_BUSY));
      connection.commit();
    }
    assertThat(called).hasSize(1);
    assertThat(inbox.accept("c", Message.of("m-1", "hello"))).isInstanceOf(Acceptance.Repeat.class);
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void whatAnInlineHandlerCannotDoIsRefused(TestDatabase fresh) {
    open(fresh);
    for (HandlerOption option :
        List.of(
            atMost(2),
            retrying(RetryPolicy.defaults()),
            perSecond(5),
            pausingAfter(5),
            sharedCommits(2))) {
      refused(type -> type.handleInTransaction("a", this::write, inline(), option));
    }
    refused(type -> type.handleBatch("a", 10, batch -> {}, inline()));

    Inbox inbox = inbox(this::three);
    assertThat(
            inbox.accept("c", Message.of("m-1", "x").notBefore(Instant.now().plusSeconds(3_600))))
        .isInstanceOfSatisfying(
            Acceptance.Rejected.class,
            rejected -> assertThat(rejected.code()).isEqualTo(ErrorCode.OPTION_NOT_APPLICABLE));
    assertThat(called).isEmpty();
  }

  /** With one problem, and that of inline handlers. */
  private void refused(UnaryOperator<TypeBuilder<String>> handlers) {
    assertThatExceptionOfType(ConfigurationException.class)
        .isThrownBy(() -> inbox(handlers))
        .satisfies(
            e ->
                assertThat(e.problems())
                    .extracting(ConfigurationException.Problem::code)
                    .containsExactly(ErrorCode.OPTION_NOT_APPLICABLE))
        .withMessageContaining("is inline");
  }

  @ParameterizedTest
  @MethodSource(ALL)
  void v7_onlyAHandlerThatAsksForItHoldsATransactionWhileItRuns(TestDatabase fresh) {
    open(fresh);
    HikariDataSource pool = fresh.pool(8);
    store = JdbcStore.of(pool).beatsOn(fresh.dataSource());
    List<Integer> held = new CopyOnWriteArrayList<>();
    Inbox inbox =
        inbox(
            type ->
                type.handle("calls-others", text -> held.add(active(pool)))
                    .handleInTransaction("writes", (text, tx) -> held.add(active(pool)), inline()));

    inbox.accept("c", Message.of("m-1", "hello"));
    inbox.drain();

    assertThat(held)
        .as("connections in use by the inline one, then by the stored")
        .containsExactly(1, 0);
  }

  private static int active(HikariDataSource pool) {
    return pool.getHikariPoolMXBean().getActiveConnections();
  }
}
