package dev.pigeonhole.proofs;

import static org.assertj.core.api.Assertions.assertThat;

import com.zaxxer.hikari.HikariDataSource;
import dev.pigeonhole.Channel;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.Message;
import dev.pigeonhole.Received;
import dev.pigeonhole.RetryPolicy;
import dev.pigeonhole.RunningInbox;
import dev.pigeonhole.jdbc.JdbcStore;
import dev.pigeonhole.jdbc.Schema;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.DuplicateRows;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.support.JavaProcess;
import dev.pigeonhole.support.ParentWatch;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Random;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * What a reader with cursors can do wrong: miss a row whose commit came late, hand out a row twice
 * because a read and a settle crossed, or let a follower overtake the head of its key.
 */
class ReaderTest {
  private static final String CHANNEL = "reader";
  private static final Duration PATIENCE = Size.patience();

  /** Message and handler → how often it was invoked. */
  private final Map<String, AtomicInteger> invocations = new ConcurrentHashMap<>();

  private final Queue<String> order = new ConcurrentLinkedQueue<>();

  static List<DatabaseKind> databases() {
    return Size.databases(DatabaseKind.MARIADB);
  }

  /** Databases, and whether somebody keeps an old snapshot open; at small size each once. */
  static List<Arguments> readers() {
    return List.of(
            Arguments.of(DatabaseKind.POSTGRES, true),
            Arguments.of(DatabaseKind.MARIADB, false),
            Arguments.of(DatabaseKind.POSTGRES, false),
            Arguments.of(DatabaseKind.MARIADB, true))
        .subList(0, Size.of(2, 4));
  }

  /**
   * One writer hands over what it accepts; the other accepts in transactions of its own, some of
   * which commit behind the cursor, and a few so late that only the sweep can find them: at least
   * the first does so, and the second comes late. A reader without look-back and sweep loses those;
   * one without the set of open rows and its tombstones runs some rows twice although nothing
   * failed.
   *
   * @param snapshot whether somebody keeps an old snapshot open, so that nothing can be cleaned up
   */
  @ParameterizedTest
  @MethodSource("readers")
  void nothingIsMissedAndNothingIsRunTwice(DatabaseKind kind, boolean snapshot) throws Exception {
    long seed = Size.seed("reader on " + kind);
    int batches = Size.of(40, 1_000);
    int batchSize = 10;
    ExecutorService committers = Executors.newCachedThreadPool();
    try (TestDatabase database = TestDatabases.open(kind)) {
      Schema.migrate(database.dataSource());
      HikariDataSource pool = database.pool(8);
      Inbox inbox = inbox(pool, this::sometimesFailing);
      try (Connection old = snapshot ? holdSnapshot(database) : null;
          RunningInbox running = inbox.start()) {
        AtomicInteger late = new AtomicInteger();
        AtomicInteger tooLate = new AtomicInteger();
        Future<?> handingOver =
            committers.submit(
                () -> {
                  for (int i = 0; i < batches; i++) {
                    inbox.accept(CHANNEL, batch("a", i, batchSize));
                  }
                });
        Random random = new Random(seed);
        List<Future<?>> commits = new ArrayList<>();
        for (int i = 0; i < batches; i++) {
          Connection connection = database.dataSource().getConnection();
          connection.setAutoCommit(false);
          inbox.accept(connection, CHANNEL, batch("b", i, batchSize));
          int dice = random.nextInt(200);
          if (i > 1 && dice >= 9) {
            commit(connection, 0);
          } else {
            boolean onlySweep = i == 0 || (i > 1 && dice == 8);
            (onlySweep ? tooLate : late).incrementAndGet();
            int delay = onlySweep ? 4_000 : random.nextInt(300, 1_200);
            commits.add(committers.submit(() -> commit(connection, delay)));
          }
        }
        handingOver.get();
        for (Future<?> commit : commits) {
          commit.get();
        }
        Eventually.until("no open delivery", PATIENCE, () -> Tables.openCount(database) == 0);
        int expected = 0;
        int needless = 0;
        List<String> lost = new ArrayList<>();
        for (String writer : List.of("a", "b")) {
          for (int number = 0; number < batches * batchSize; number++) {
            for (String handler : List.of("one", "two")) {
              String id = writer + "-" + number;
              int wanted = fails(id, handler) ? 2 : 1;
              AtomicInteger times = invocations.get(id + " " + handler);
              expected += wanted;
              if (times == null) {
                lost.add(id + " " + handler);
              } else {
                needless += times.get() - wanted;
              }
            }
          }
        }
        System.out.printf(
            "%s%s: %d deliveries, %d batches late, %d only for the sweep, %d lost, %d needless%n",
            kind,
            snapshot ? " under a held snapshot" : "",
            expected,
            late.get(),
            tooLate.get(),
            lost.size(),
            needless);
        assertThat(lost).as("lost").isEmpty();
        assertThat(DuplicateRows.in(database)).as("standing twice").isEmpty();
        assertThat(needless).as("needless invocations").isZero();
      }
    } finally {
      committers.shutdownNow();
    }
  }

  /** A batch is stored in the order of its ids, but handled in the order it was given. */
  @ParameterizedTest
  @EnumSource
  void anOrderedBatchIsHandledInItsOwnOrder(DatabaseKind kind) {
    int messages = 200;
    try (TestDatabase database = TestDatabases.open(kind)) {
      Schema.migrate(database.dataSource());
      Inbox inbox = inbox(database.pool(8), received -> order.add(handledAs(received)));
      List<Message> descending = new ArrayList<>();
      List<String> expected = new ArrayList<>();
      for (int number = messages; number > 0; number--) {
        descending.add(Message.of("m-%03d".formatted(number), "hello").orderedBy("key"));
        expected.add("m-%03d".formatted(number));
      }
      try (RunningInbox running = inbox.start()) {
        inbox.accept(CHANNEL, descending);
        Eventually.until("no open delivery", PATIENCE, () -> Tables.openCount(database) == 0);
      }
      assertThat(DuplicateRows.in(database)).as("standing twice").isEmpty();
      for (String handler : List.of("one", "two")) {
        assertThat(order.stream().filter(each -> each.endsWith(" " + handler)))
            .as(handler)
            .containsExactlyElementsOf(expected.stream().map(id -> id + " " + handler).toList());
      }
    }
  }

  /**
   * The head of a key has failed and waits for its next attempt when its node dies. Whoever takes
   * over finds the follower among the fresh rows and the head nowhere near: without the question
   * what stands ahead, the follower would run at once.
   */
  @ParameterizedTest
  @MethodSource("databases")
  void aFollowerWaitsForAHeadInBackoffAfterATakeover(DatabaseKind kind) {
    try (TestDatabase database = TestDatabases.open(kind)) {
      Schema.migrate(database.dataSource());
      Inbox inbox = inbox(database.pool(8), received -> order.add(handledAs(received)));
      inbox.accept(CHANNEL, Message.of("head", "hello").orderedBy("key"));
      try (JavaProcess doomed =
          JavaProcess.of(Failing.class)
              .heap("128m")
              .args(database.jdbcUrl(), database.user(), database.password())
              .start()) {
        doomed.awaitLine("FAILED one", PATIENCE);
        doomed.awaitLine("FAILED two", PATIENCE);
        doomed.kill9();
      }
      for (int number = 1; number <= 5; number++) {
        inbox.accept(CHANNEL, Message.of("follower-" + number, "hello").orderedBy("key"));
      }
      assertThat(Tables.count(database, "later")).as("heads in backoff").isEqualTo(2);
      try (RunningInbox running = inbox.start()) {
        Eventually.until("no open delivery", PATIENCE, () -> Tables.openCount(database) == 0);
      }
      assertThat(DuplicateRows.in(database)).as("standing twice").isEmpty();
      for (String handler : List.of("one", "two")) {
        assertThat(order.stream().filter(each -> each.endsWith(" " + handler)))
            .containsExactly(
                "head " + handler,
                "follower-1 " + handler,
                "follower-2 " + handler,
                "follower-3 " + handler,
                "follower-4 " + handler,
                "follower-5 " + handler);
      }
      assertThat(database.count("SELECT COUNT(*) FROM pigeonhole_node WHERE state = 'DEAD'"))
          .as("a takeover must have happened")
          .isEqualTo(1);
    }
  }

  /** Fails everything, tells so after it is stored, and waits to be killed. */
  static final class Failing {
    private Failing() {}

    public static void main(String[] args) throws Exception {
      ParentWatch.install();
      TestDatabase database = TestDatabase.attach(args[0], args[1], args[2]);
      Inbox inbox =
          inbox(
              database.pool(8),
              received -> {
                throw new IllegalStateException("not now");
              });
      RunningInbox running = inbox.start();
      for (String handler : List.of("one", "two")) {
        Eventually.until(
            "a failure of " + handler,
            PATIENCE,
            () ->
                inbox
                    .find(CHANNEL, "head", handler)
                    .filter(delivery -> delivery.failures() >= 1)
                    .isPresent());
        System.out.println("FAILED " + handler);
      }
      running.awaitStopped();
    }
  }

  private static Inbox inbox(HikariDataSource pool, dev.pigeonhole.MessageHandler<String> handler) {
    return Inbox.on(JdbcStore.of(pool))
        .named("reader")
        .channel(
            Channel.named(CHANNEL)
                .on(String.class)
                .handleMessage("one", handler)
                .handleMessage("two", handler)
                .build())
        .beat(Duration.ofMillis(300))
        .deadAfter(Duration.ofMillis(1_200))
        .retry(RetryPolicy.fixed(Duration.ofSeconds(4)))
        .build();
  }

  private static String handledAs(Received<String> received) {
    return received.message().id() + " " + received.handler();
  }

  private void sometimesFailing(Received<String> received) {
    String id = received.message().id();
    int invocation =
        invocations
            .computeIfAbsent(handledAs(received), none -> new AtomicInteger())
            .incrementAndGet();
    // Not by the attempt: one that fails while its node does not beat is not counted.
    if (invocation == 1 && fails(id, received.handler())) {
      throw new IllegalStateException("first invocation");
    }
  }

  /** Three of a hundred. */
  private static boolean fails(String id, String handler) {
    return Math.floorMod((id + handler).hashCode() * 31, 100) < 3;
  }

  private static List<Message> batch(String writer, int batch, int size) {
    List<Message> messages = new ArrayList<>();
    for (int i = 0; i < size; i++) {
      messages.add(Message.of(writer + "-" + (batch * size + i), "hello"));
    }
    return messages;
  }

  private static void commit(Connection connection, int delayMillis) {
    try (connection) {
      TimeUnit.MILLISECONDS.sleep(delayMillis);
      connection.commit();
    } catch (SQLException | InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  private static Connection holdSnapshot(TestDatabase database) throws SQLException {
    Connection connection = database.dataSource().getConnection();
    connection.setAutoCommit(false);
    connection.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
    try (var statement = connection.createStatement()) {
      statement.executeQuery("SELECT COUNT(*) FROM " + Tables.name(database, "message")).close();
    }
    return connection;
  }
}
