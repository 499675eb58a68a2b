package dev.pigeonhole.jdbc;

import static dev.pigeonhole.HandlerOption.atMost;
import static dev.pigeonhole.HandlerOption.retrying;
import static dev.pigeonhole.HandlerOption.sharedCommits;
import static dev.pigeonhole.HandlerOption.within;
import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.Channel;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.HandlerTransaction;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.Message;
import dev.pigeonhole.RetryPolicy;
import dev.pigeonhole.RunningInbox;
import dev.pigeonhole.admin.DeliveryState;
import dev.pigeonhole.event.InboxEvent;
import dev.pigeonhole.event.InboxListener;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.support.TestDatabase;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Transactional handlers that do not return. */
@Execution(ExecutionMode.CONCURRENT)
class StuckHandlerTest {
  private static final Duration LIMIT = Duration.ofMinutes(5);

  private final CountDownLatch release = new CountDownLatch(1);
  private final AtomicInteger returned = new AtomicInteger();
  private final BlockingQueue<InboxEvent.Poisoned> poisoned = new LinkedBlockingQueue<>();
  private final BlockingQueue<InboxEvent.Completed> completed = new LinkedBlockingQueue<>();

  private void handle(String text, HandlerTransaction<String> transaction) throws SQLException {
    try (PreparedStatement insert =
        transaction.connection().prepareStatement("INSERT INTO effect VALUES (?)")) {
      insert.setString(1, text);
      insert.execute();
    }
    if (text.equals("stuck")) {
      while (release.getCount() > 0) {
        try {
          release.await();
        } catch (InterruptedException e) {
          assertThat(transaction.delivery().stopRequested()).isTrue(); // and goes on nevertheless
        }
      }
      returned.incrementAndGet();
    }
  }

  private Inbox inbox(TestDatabase database, int maxAttempts) {
    InboxTables.in(database);
    database.execute("CREATE TABLE effect (text varchar(20))");
    return Inbox.on(JdbcStore.of(database.pool(20)))
        .listener(InboxListener.create().onPoisoned(poisoned::add).onCompleted(completed::add))
        .channel(
            Channel.named("c")
                .on(String.class)
                .handleInTransaction(
                    "h",
                    this::handle,
                    within(Duration.ofSeconds(10)), // more than those need that are not stuck
                    atMost(2), // a stuck one keeps its slot
                    sharedCommits(10),
                    retrying(RetryPolicy.fixed(Duration.ofMillis(1)).maxAttempts(maxAttempts)))
                .build())
        .build();
  }

  private static <T> T next(BlockingQueue<T> queue) throws InterruptedException {
    @Nullable T next = queue.poll(LIMIT.toSeconds(), TimeUnit.SECONDS);
    assertThat(next).isNotNull();
    return next;
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#servers")
  void itsAttemptsAreCountedAlthoughItNeverReturns(TestDatabase database) throws Exception {
    Inbox inbox = inbox(database, 2);
    inbox.accept("c", Message.of("m", "stuck"));
    try (RunningInbox running = inbox.start()) {
      InboxEvent.Poisoned event = next(poisoned);
      assertThat(event.failure().code()).isEqualTo(ErrorCode.HANDLER_TIMED_OUT);
      assertThat(event.attempt()).isEqualTo(2);
      assertThat(returned).hasValue(0);
      Eventually.until(Duration.ofMinutes(3), running::healthy);
      release.countDown();
    }
    // Nobody waits for those that were given up; both come back, and neither changes anything.
    Eventually.until("both to return", LIMIT, () -> returned.get() == 2);
    assertThat(inbox.find("c", "m", "h").orElseThrow().state()).isEqualTo(DeliveryState.POISONED);
    assertThat(inbox.find("c", "m", "h").orElseThrow().failures()).isEqualTo(2);
    assertThat(database.count("SELECT count(*) FROM effect")).isZero();
    assertThat(completed).isEmpty();
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#servers")
  void whoSharedItsTransactionIsRunAgain(TestDatabase database) throws Exception {
    Inbox inbox = inbox(database, 1);
    inbox.accept(
        "c",
        List.of(
            Message.of("before", "before"),
            Message.of("m", "stuck"),
            Message.of("behind", "behind")));
    try (RunningInbox running = inbox.start()) {
      assertThat(next(poisoned).message().id()).isEqualTo("m");
      assertThat(List.of(next(completed).message().id(), next(completed).message().id()))
          .containsExactlyInAnyOrder("before", "behind");
      assertThat(returned).hasValue(0);
      Eventually.until(Duration.ofMinutes(3), running::healthy);
      release.countDown();
    }
    Eventually.until("it to return", LIMIT, () -> returned.get() == 1);
    assertThat(database.count("SELECT count(*) FROM effect")).isEqualTo(2);
    assertThat(completed).isEmpty();
    assertThat(poisoned).isEmpty();
  }
}
