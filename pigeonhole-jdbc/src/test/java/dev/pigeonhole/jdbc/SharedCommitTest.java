package dev.pigeonhole.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.Channel;
import dev.pigeonhole.HandlerOption;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.Message;
import dev.pigeonhole.RunningInbox;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import java.sql.Connection;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class SharedCommitTest {
  private static final int SLOW = 6;

  @Test
  void whatTakesItsTimeIsNotKeptOpenByWhatFollows() {
    CountDownLatch queued = new CountDownLatch(1);
    List<Connection> used = new CopyOnWriteArrayList<>();
    Channel channel =
        Channel.named("texts")
            .on(String.class)
            .handleInTransaction(
                "slow",
                (text, tx) -> {
                  if (text.equals("first")) {
                    queued.await();
                  } else {
                    longerThanAUnitMayTake();
                    used.add(tx.connection());
                  }
                },
                HandlerOption.sharedCommits(50),
                HandlerOption.atMost(1))
            .build();
    try (TestDatabase database = TestDatabases.open(DatabaseKind.H2)) {
      InboxTables.in(database);
      Inbox inbox = Inbox.on(JdbcStore.of(database.pool(8))).channel(channel).build();
      try (RunningInbox running = inbox.start()) {
        inbox.accept("texts", Message.of("first", "first"));
        inbox.accept(
            "texts", IntStream.range(0, SLOW).mapToObj(i -> Message.of("m-" + i, "slow")).toList());
        queued.countDown();
        Eventually.passes(Duration.ofMinutes(3), () -> assertThat(used).hasSize(SLOW));
        Eventually.until(Duration.ofMinutes(3), running::healthy);
      }
    }

    // Every transaction has a connection of its own.
    assertThat(used).doesNotHaveDuplicates();
  }

  private static void longerThanAUnitMayTake() {
    long end = System.nanoTime() + Duration.ofMillis(25).toNanos();
    while (System.nanoTime() - end < 0) {
      LockSupport.parkNanos(end - System.nanoTime());
    }
  }
}
