package dev.pigeonhole.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.Channel;
import dev.pigeonhole.HandlerTransaction;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.Message;
import dev.pigeonhole.RunningInbox;
import dev.pigeonhole.admin.DeliveryState;
import dev.pigeonhole.admin.DeliveryView;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.support.TestDatabase;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Transactional handlers that are told to stop. */
class StoppedHandlerTest {
  private final CountDownLatch begun = new CountDownLatch(1);
  private final AtomicInteger calls = new AtomicInteger();

  private void handle(String text, HandlerTransaction<String> transaction) throws SQLException {
    try (Statement insert = transaction.connection().createStatement()) {
      insert.execute("INSERT INTO effect VALUES (1)");
    }
    if (calls.incrementAndGet() > 1) {
      return;
    }
    begun.countDown();
    while (!transaction.delivery().stopRequested()) {
      Thread.onSpinWait();
    }
    throw new IllegalStateException("half done");
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#all")
  void whoGivesWayToAShutdownHasNotFailed(TestDatabase database) throws Exception {
    InboxTables.in(database);
    database.execute("CREATE TABLE effect (n int)");
    Inbox inbox =
        Inbox.on(JdbcStore.of(database.pool(20)))
            .stopGrace(Duration.ofSeconds(20))
            .channel(
                Channel.named("c").on(String.class).handleInTransaction("h", this::handle).build())
            .build();
    inbox.accept("c", Message.of("m", "x"));
    try (RunningInbox running = inbox.start()) {
      assertThat(begun.await(300, TimeUnit.SECONDS)).isTrue();
      Eventually.until(Duration.ofMinutes(3), running::healthy);
    }
    DeliveryView released = inbox.find("c", "m", "h").orElseThrow();
    assertThat(released.state()).isEqualTo(DeliveryState.PENDING);
    assertThat(released.failures()).isZero();
    assertThat(released.releases()).isEqualTo(1);
    assertThat(database.count("SELECT count(*) FROM effect")).isZero();

    try (RunningInbox running = inbox.start()) {
      Eventually.passes(
          Duration.ofMinutes(5),
          () ->
              assertThat(inbox.find("c", "m", "h").orElseThrow().state())
                  .isEqualTo(DeliveryState.COMPLETED));
      Eventually.until(Duration.ofMinutes(3), running::healthy);
    }
    assertThat(calls).hasValue(2);
    assertThat(database.count("SELECT count(*) FROM effect")).isEqualTo(1);
  }
}
