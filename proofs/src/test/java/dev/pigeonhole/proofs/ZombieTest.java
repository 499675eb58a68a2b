package dev.pigeonhole.proofs;

import static org.assertj.core.api.Assertions.assertThat;

import com.zaxxer.hikari.HikariDataSource;
import dev.pigeonhole.Channel;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.Message;
import dev.pigeonhole.MessageHandler;
import dev.pigeonhole.PoisonException;
import dev.pigeonhole.RunningInbox;
import dev.pigeonhole.admin.DeliveryState;
import dev.pigeonhole.admin.DeliveryView;
import dev.pigeonhole.event.InboxEvent;
import dev.pigeonhole.event.InboxListener;
import dev.pigeonhole.jdbc.JdbcStore;
import dev.pigeonhole.jdbc.Schema;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.DuplicateRows;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.support.JavaProcess;
import dev.pigeonhole.support.ParentWatch;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * A process stands still in the middle of an attempt. Others take it for dead, run the delivery,
 * poison it, and an operator gives it a new life. Then the process wakes up, and its attempt fails.
 *
 * <p>If a settle named the delivery without its version, that old failure would end the fresh
 * attempt: the message would be poisoned a second time, for a reason from another life.
 */
class ZombieTest {
  private static final String CHANNEL = "zombie";
  private static final Duration PATIENCE = Duration.ofMinutes(2);

  static List<DatabaseKind> databases() {
    return Size.databases(DatabaseKind.POSTGRES);
  }

  @ParameterizedTest
  @MethodSource("databases")
  void aZombiesFailureDoesNotEndTheAttemptAfterAnOperatorsRetry(
      DatabaseKind kind, @TempDir Path directory) throws Exception {
    Path mayFail = directory.resolve("may-fail");
    try (TestDatabase database = TestDatabases.open(kind)) {
      Schema.migrate(database.dataSource());
      CountDownLatch freshAttempt = new CountDownLatch(1);
      CountDownLatch mayEnd = new CountDownLatch(1);
      AtomicInteger attempts = new AtomicInteger();
      Inbox inbox =
          inbox(
              database.pool(8),
              received -> {
                if (attempts.incrementAndGet() == 1) {
                  throw new PoisonException("the first look says it is hopeless");
                }
                freshAttempt.countDown();
                mayEnd.await();
              },
              Duration.ofSeconds(2),
              InboxListener.create());
      inbox.accept(CHANNEL, Message.of("m-1", "hello"));
      try (JavaProcess zombie =
          JavaProcess.of(Sleeper.class)
              .heap("128m")
              .args(database.jdbcUrl(), database.user(), database.password(), mayFail)
              .start()) {
        zombie.awaitLine("BEGUN", PATIENCE);
        zombie.pause();
        try (RunningInbox running = inbox.start()) {
          Eventually.until("poisoned", PATIENCE, () -> state(inbox) == DeliveryState.POISONED);
          assertThat(inbox.admin().as("proof").retry(CHANNEL, "m-1", "slow", "try again")).isTrue();
          assertThat(freshAttempt.await(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();

          Files.createFile(mayFail);
          zombie.resume();
          zombie.awaitLine("REFUSED slow", PATIENCE);
          DeliveryView meanwhile = inbox.find(CHANNEL, "m-1", "slow").orElseThrow();
          assertThat(meanwhile.state()).isEqualTo(DeliveryState.PENDING);
          assertThat(meanwhile.failures()).isZero();

          mayEnd.countDown();
          Eventually.until("completed", PATIENCE, () -> state(inbox) == DeliveryState.COMPLETED);
        }
      }
      assertThat(attempts).as("attempts of the living").hasValue(2);
      assertThat(DuplicateRows.in(database)).as("standing twice").isEmpty();
      assertThat(Tables.count(database, "poison")).isZero();
      assertThat(Tables.openCount(database)).isZero();
      assertThat(database.count("SELECT failures FROM pigeonhole_receipt")).isZero();
    }
  }

  private static DeliveryState state(Inbox inbox) {
    return inbox.find(CHANNEL, "m-1", "slow").orElseThrow().state();
  }

  private static Inbox inbox(
      HikariDataSource pool,
      MessageHandler<String> handler,
      Duration deadAfter,
      InboxListener listener) {
    return Inbox.on(JdbcStore.of(pool))
        .named("zombie")
        .channel(Channel.named(CHANNEL).on(String.class).handleMessage("slow", handler).build())
        .beat(Duration.ofMillis(500))
        .deadAfter(deadAfter)
        .listener(listener)
        .build();
  }

  /** Begins an attempt, is paused in it, and fails it after it has been woken up. */
  static final class Sleeper {
    /**
     * It never takes the living for dead, however long they stand still. For as long it believes
     * that it may start what it has, so it may also begin the fresh attempt a second time.
     */
    private static final Duration DEAD_AFTER = Duration.ofMinutes(10);

    private static final AtomicInteger INVOCATIONS = new AtomicInteger();

    private Sleeper() {}

    public static void main(String[] args) throws Exception {
      ParentWatch.install();
      TestDatabase database = TestDatabase.attach(args[0], args[1], args[2]);
      try (HikariDataSource pool = database.pool(8)) {
        Path mayFail = Path.of(args[3]);
        inbox(pool, received -> failWhenItMay(mayFail), DEAD_AFTER, refusals())
            .start()
            .awaitStopped();
      }
    }

    private static void failWhenItMay(Path file) throws InterruptedException {
      if (INVOCATIONS.incrementAndGet() > 1) {
        new CountDownLatch(1).await(); // a failure of this one would be a rightful one
      }
      System.out.println("BEGUN");
      while (Files.notExists(file)) {
        TimeUnit.MILLISECONDS.sleep(10);
      }
      // Any other exception would not count once its node has learned that it was declared dead.
      throw new PoisonException("late failure of a zombie");
    }

    private static InboxListener refusals() {
      return InboxListener.create()
          .with(
              InboxEvent.Refused.class,
              event -> System.out.println("REFUSED " + event.handler() + " " + event.seq()));
    }
  }
}
