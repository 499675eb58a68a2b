package dev.pigeonhole.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import com.zaxxer.hikari.HikariDataSource;
import dev.pigeonhole.Acceptance;
import dev.pigeonhole.Channel;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.Message;
import dev.pigeonhole.store.AcceptResult;
import dev.pigeonhole.store.NewMessage;
import dev.pigeonhole.store.StoreException;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.support.StatementCounter;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Batches of which another open transaction holds a part for any length of time, such as the
 * transaction of a host that is gone. However large that part is, the batch waits for it once.
 */
class LockedBatchTest {

  /**
   * The old way, by halving, waited 2n - 1 times: 16 s for the smallest batch, 250 s for the
   * largest.
   */
  private static final Duration GENEROUS = Duration.ofMinutes(3);

  /** Two short waits, before and after the look at what is held, and the one long wait. */
  private static final int WAITS = 3;

  static Stream<Arguments> batches() {
    return Stream.of(DatabaseKind.POSTGRES, DatabaseKind.MARIADB)
        .flatMap(kind -> sizes().mapToObj(size -> Arguments.of(kind, size)));
  }

  private static IntStream sizes() {
    return IntStream.of(200, 32, 500).limit(Size.of(1, 3));
  }

  @ParameterizedTest
  @MethodSource("batches")
  void aBatchOfWhichAllIsHeldWaitsOnce(DatabaseKind kind, int size) throws Exception {
    try (TestDatabase database = TestDatabases.open(kind)) {
      Rig rig = Rig.on(database);
      Counted counted = new Counted(database, rig);
      try (Connection other = hold(rig, rig.messages("held-", size, rig.a))) {
        List<NewMessage> batch = rig.messages("held-", size, rig.a);

        assertThatExceptionOfType(StoreException.class)
            .isThrownBy(() -> counted.rig.store.acceptor().accept(batch))
            .matches(e -> e.kind() == StoreException.Kind.TRANSIENT);

        counted.waitedAtMost(WAITS);
        other.rollback();
      }
      assertThat(rig.count("message")).isZero();
      assertThat(counted.rig.store.acceptor().accept(rig.messages("held-", size, rig.a)))
          .allMatch(each -> each instanceof AcceptResult.Stored);
    }
  }

  @ParameterizedTest
  @MethodSource("batches")
  void whatIsNotHeldIsStoredAtOnce(DatabaseKind kind, int size) throws Exception {
    try (TestDatabase database = TestDatabases.open(kind)) {
      Rig rig = Rig.on(database);
      whatIsNotHeldIsStoredAtOnce(rig, new Counted(database, rig), size);
    }
  }

  private static void whatIsNotHeldIsStoredAtOnce(Rig rig, Counted counted, int size)
      throws Exception {
    List<NewMessage> free = rig.messages("free-", size / 2, rig.a);
    List<NewMessage> held = rig.messages("held-", size / 2, rig.a);
    CompletableFuture<List<AcceptResult>> accepting;
    try (Connection other = hold(rig, held)) {
      accepting = counted.accept(interleaved(held, free));

      storesAtOnce(rig, free.size());
      other.rollback();
    }
    assertThat(accepting.get(300, TimeUnit.SECONDS))
        .allMatch(each -> each instanceof AcceptResult.Stored);
    counted.waitedAtMost(WAITS);
    assertThat(rig.count("delivery")).isEqualTo(size);
  }

  /** The server parses the question about held ids in another way then. */
  @Test
  void whatIsNotHeldIsStoredAtOnceByStatementsThatTheServerPrepares() throws Exception {
    try (TestDatabase database = TestDatabases.open(DatabaseKind.MARIADB);
        TestDatabase preparing = database.with("useServerPrepStmts", "true")) {
      Rig rig = Rig.on(database);
      whatIsNotHeldIsStoredAtOnce(rig, new Counted(preparing, rig), 200);
    }
  }

  @ParameterizedTest
  @MethodSource("batches")
  void callersThatShareACommitAreBusyOnlyWhereTheirsIsHeld(DatabaseKind kind, int size)
      throws Exception {
    try (TestDatabase database = TestDatabases.open(kind)) {
      Rig rig = Rig.on(database);
      Counted counted = new Counted(database, rig);
      List<NewMessage> free = rig.messages("free-", size / 2, rig.a);
      List<NewMessage> held = rig.messages("held-", size / 2, rig.a);
      try (Connection other = hold(rig, held)) {

        List<AcceptResult> results =
            counted.rig.store.acceptor().acceptTogether(interleaved(held, free));

        counted.waitedAtMost(WAITS - 1);
        for (int i = 0; i < results.size(); i++) {
          assertThat(results.get(i))
              .isInstanceOf(i % 2 == 0 ? AcceptResult.Busy.class : AcceptResult.Stored.class);
        }
        other.rollback();
      }
      assertThat(rig.count("message")).isEqualTo(free.size());
    }
  }

  /** Known messages whose rows are locked, as by a repeat that hangs or a guard. */
  @ParameterizedTest
  @MethodSource("batches")
  void aBatchOfKnownMessagesThatAreLockedWaitsOnce(DatabaseKind kind, int size) throws Exception {
    try (TestDatabase database = TestDatabases.open(kind)) {
      Rig rig = Rig.on(database);
      Counted counted = new Counted(database, rig);
      List<NewMessage> known = rig.messages("known-", size / 2, rig.a);
      rig.store.acceptor().accept(known);
      List<NewMessage> batch = interleaved(known, rig.messages("free-", size / 2, rig.a));
      CompletableFuture<List<AcceptResult>> accepting;
      try (Connection other = database.dataSource().getConnection()) {
        other.setTransactionIsolation(Connection.TRANSACTION_READ_COMMITTED); // rows, and no gaps
        other.setAutoCommit(false);
        try (var statement = other.createStatement()) {
          statement.executeQuery("SELECT seq FROM " + rig.table("message") + " FOR UPDATE").close();
        }
        accepting = counted.accept(batch);

        storesAtOnce(rig, batch.size());
        other.rollback();
      }
      assertThat(accepting.get(300, TimeUnit.SECONDS))
          .filteredOn(each -> each instanceof AcceptResult.Known)
          .hasSameSizeAs(known);
      counted.waitedAtMost(2 * WAITS); // with an insert, and with the look at what is known
    }
  }

  /** What RabbitMQ (200) and Kafka (500) hand in, and an application. */
  @ParameterizedTest
  @MethodSource("batches")
  void aBatchOfASourceWaitsOnceThroughTheInbox(DatabaseKind kind, int size) throws Exception {
    try (TestDatabase database = TestDatabases.open(kind)) {
      InboxTables.in(database);
      HikariDataSource pool = database.pool(12);
      StatementCounter counter = StatementCounter.on(database, pool);
      Channel channel = Channel.named("texts").on(String.class).handle("plain", text -> {}).build();
      Inbox inbox = Inbox.on(JdbcStore.of(counter.dataSource())).channel(channel).build();
      List<Message> batch =
          IntStream.range(0, size).mapToObj(i -> Message.of("m-" + i, "text")).toList();
      CompletableFuture<List<Acceptance>> accepting;
      try (Connection other = database.dataSource().getConnection()) {
        other.setAutoCommit(false);
        inbox.accept(other, "texts", batch);
        counter.reset();
        accepting = CompletableFuture.supplyAsync(() -> inbox.accept("texts", batch));
        // What may share a commit waits a moment there, and then a moment and for long on its own.
        int waits = size == 500 ? 2 : 3;
        Eventually.until("the long wait", GENEROUS, () -> waits(counter).size() >= waits);
        other.rollback();
      }
      assertThat(accepting.get(300, TimeUnit.SECONDS))
          .allMatch(each -> each instanceof Acceptance.Accepted);
    }
  }

  private static void storesAtOnce(Rig rig, int messages) {
    Eventually.until(
        "what is not held to be stored", GENEROUS, () -> rig.count("message") == messages);
  }

  private static List<NewMessage> interleaved(List<NewMessage> one, List<NewMessage> other) {
    return IntStream.range(0, one.size())
        .boxed()
        .flatMap(i -> Stream.of(one.get(i), other.get(i)))
        .toList();
  }

  /** Another transaction that is inserting these. */
  private static Connection hold(Rig rig, List<NewMessage> messages) throws SQLException {
    Connection other = rig.database.dataSource().getConnection();
    other.setAutoCommit(false);
    rig.store.acceptor().accept(other, messages);
    return other;
  }

  /** Statements that meet messages and may wait for a lock longer than a moment. */
  private static List<String> waits(StatementCounter counter) {
    Predicate<String> meets =
        sql -> sql.contains("pigeonhole_message\"") || sql.contains("pigeonhole_message`");
    Predicate<String> atOnce =
        sql -> sql.contains("'lock_timeout', '1'") || sql.contains("innodb_lock_wait_timeout = 0");
    return counter.statements().stream()
        .filter(sql -> !sql.startsWith("prepare ")) // it waits for no lock, and is sent again
        .filter(meets.and(atOnce.negate()))
        .toList();
  }

  /** A second store on the same tables, whose statements are counted. */
  private static final class Counted {
    final Rig rig;
    private final StatementCounter counter;
    private final long began = System.nanoTime();

    Counted(TestDatabase database, Rig tables) {
      this.counter = StatementCounter.on(database, database.pool(4));
      this.rig = Rig.on(tables.database, counter.dataSource());
      counter.reset();
    }

    CompletableFuture<List<AcceptResult>> accept(List<NewMessage> batch) {
      return CompletableFuture.supplyAsync(() -> rig.store.acceptor().accept(batch));
    }

    void waitedAtMost(int times) {
      assertThat(waits(counter)).hasSizeLessThanOrEqualTo(times);
      assertThat(Duration.ofNanos(System.nanoTime() - began)).isLessThan(GENEROUS);
    }
  }
}
