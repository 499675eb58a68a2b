package dev.pigeonhole.proofs;

import com.zaxxer.hikari.HikariDataSource;
import dev.pigeonhole.Channel;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.RunningInbox;
import dev.pigeonhole.jdbc.JdbcStore;
import dev.pigeonhole.support.ParentWatch;
import dev.pigeonhole.support.TestDatabase;
import java.time.Duration;
import java.util.concurrent.TimeUnit;

/**
 * A worker process with a slow handler and one beside it that has nothing to do with it. Arguments:
 * JDBC address, user, password, and how many milliseconds the slow one takes.
 */
public final class CrashLoopWorker {
  static final int SLOTS = 8;

  /** What the other handler takes for a message, so that its slots limit its rate. */
  private static final int BESIDE_MILLIS = 50;

  static final String SLOW = "slow";
  static final String BESIDE = "beside";

  private CrashLoopWorker() {}

  public static void main(String[] args) throws Exception {
    ParentWatch.install();
    TestDatabase database = TestDatabase.attach(args[0], args[1], args[2]);
    int millis = Integer.parseInt(args[3]);
    try (HikariDataSource pool = database.pool(8)) {
      RunningInbox running = inbox(pool, millis).start();
      Runtime.getRuntime().addShutdownHook(new Thread(running::close));
      System.out.println("READY");
      running.awaitStopped();
    }
  }

  static Inbox inbox(HikariDataSource pool, int millis) {
    return Inbox.on(JdbcStore.of(pool))
        .named("crash-loop")
        .channel(
            Channel.named(SLOW)
                .on(String.class)
                .handle(SLOW, text -> TimeUnit.MILLISECONDS.sleep(millis))
                .build())
        .channel(
            Channel.named(BESIDE)
                .on(String.class)
                .handle(BESIDE, text -> TimeUnit.MILLISECONDS.sleep(BESIDE_MILLIS))
                .build())
        .concurrency(SLOTS)
        .batchSize(500)
        .beat(Duration.ofMillis(200))
        .deadAfter(Duration.ofMillis(800))
        .build();
  }
}
