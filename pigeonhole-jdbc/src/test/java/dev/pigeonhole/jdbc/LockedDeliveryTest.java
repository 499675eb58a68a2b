package dev.pigeonhole.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.Channel;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.Message;
import dev.pigeonhole.RunningInbox;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.support.TestDatabase;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Another session holds rows of one handler whose attempts have ended: a node that was paused in
 * the middle of a settle, or an operator's tool.
 */
class LockedDeliveryTest {
  private static final int LOCKED = 20;

  /** At 500 in eleven seconds, as it once was, they would take longer than the test waits. */
  private static final int OTHERS = 8_000;

  private static final Duration PATIENCE = Duration.ofMinutes(2);

  private static final Duration GRACE = Duration.ofSeconds(1);

  private volatile CountDownLatch mayEnd = new CountDownLatch(1);
  private final AtomicInteger begun = new AtomicInteger();

  private Inbox inbox(TestDatabase database) {
    InboxTables.in(database);
    return Inbox.on(JdbcStore.of(database.pool(12)))
        .named("locked")
        .concurrency(LOCKED)
        .stopGrace(GRACE)
        .channel(
            Channel.named("ca")
                .on(String.class)
                .handleMessage(
                    "ha",
                    received -> {
                      begun.incrementAndGet();
                      mayEnd.await();
                    })
                .build())
        .channel(Channel.named("cb").on(String.class).handleMessage("hb", received -> {}).build())
        .build();
  }

  private static String table(TestDatabase database, String name) {
    String quote = database.kind() == DatabaseKind.MARIADB ? "`" : "\"";
    return quote + "pigeonhole_" + name + quote;
  }

  private static List<Message> messages(String prefix, int count) {
    return IntStream.range(0, count).mapToObj(i -> Message.of(prefix + i, "x")).toList();
  }

  /** Begins attempts, locks their rows, and lets them end. */
  private void lockAndEnd(TestDatabase database, Inbox inbox, Connection other)
      throws SQLException {
    inbox.accept("ca", messages("a-" + UUID.randomUUID() + "-", LOCKED));
    Eventually.until("attempts to begin", PATIENCE, () -> begun.get() == LOCKED);
    other.setTransactionIsolation(Connection.TRANSACTION_READ_COMMITTED); // rows, and no gaps
    other.setAutoCommit(false);
    try (Statement statement = other.createStatement()) {
      statement.executeQuery("SELECT seq FROM " + table(database, "delivery") + " FOR UPDATE");
    }
    mayEnd.countDown();
  }

  private static long receipts(TestDatabase database) {
    return database.count("SELECT count(*) FROM " + table(database, "receipt"));
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#servers")
  void lockedDeliveriesDelayNoOtherHandler(TestDatabase database) throws Exception {
    Inbox inbox = inbox(database);
    try (RunningInbox running = inbox.start();
        Connection other = database.dataSource().getConnection()) {
      lockAndEnd(database, inbox, other);
      for (int from = 0; from < OTHERS; from += 500) {
        inbox.accept("cb", messages("b-" + from + "-", 500));
      }
      Eventually.until(
          "the other handler to be done", PATIENCE, () -> receipts(database) == OTHERS);

      other.rollback();
      Eventually.until(
          "the locked to be settled", PATIENCE, () -> receipts(database) == OTHERS + LOCKED);
      Eventually.until(Duration.ofMinutes(3), running::healthy);
    }
    assertThat(begun).as("each result was kept").hasValue(LOCKED);
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#servers")
  void closeDoesNotWaitForALock(TestDatabase database) throws Exception {
    Inbox inbox = inbox(database);
    InTime.closes(
        GRACE,
        () -> {
          begun.set(0);
          mayEnd = new CountDownLatch(1);
          try (Connection other = database.dataSource().getConnection()) {
            RunningInbox running = inbox.start();
            lockAndEnd(database, inbox, other);
            Duration took = InTime.of(running::close);
            other.rollback();
            allAreSettled(database, inbox);
            return took;
          }
        });
  }

  private static void allAreSettled(TestDatabase database, Inbox inbox) {
    try (RunningInbox again = inbox.start()) {
      Eventually.until("all to be settled", PATIENCE, () -> open(database) == 0);
      Eventually.until(Duration.ofMinutes(3), again::healthy);
    }
    assertThat(receipts(database)).isPositive().matches(count -> count % LOCKED == 0);
  }

  private static long open(TestDatabase database) {
    return database.count("SELECT count(*) FROM " + table(database, "delivery"))
        + database.count("SELECT count(*) FROM " + table(database, "later"));
  }
}
