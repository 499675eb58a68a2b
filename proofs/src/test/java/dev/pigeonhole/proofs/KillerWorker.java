package dev.pigeonhole.proofs;

import com.zaxxer.hikari.HikariDataSource;
import dev.pigeonhole.Channel;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.Message;
import dev.pigeonhole.RunningInbox;
import dev.pigeonhole.jdbc.JdbcStore;
import dev.pigeonhole.support.ParentWatch;
import dev.pigeonhole.support.TestDatabase;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * A worker process that one message ends, every time. Arguments: JDBC address, user, password, and
 * how many messages to accept by itself once it runs, which are then handed over without reading.
 */
public final class KillerWorker {
  static final int HALTED = 77;
  static final String KILLER = "killer";

  private KillerWorker() {}

  public static void main(String[] args) throws Exception {
    ParentWatch.install();
    TestDatabase database = TestDatabase.attach(args[0], args[1], args[2]);
    int messages = Integer.parseInt(args[3]);
    try (HikariDataSource pool = database.pool(8)) {
      Inbox inbox = inbox(pool);
      RunningInbox running = inbox.start();
      Runtime.getRuntime().addShutdownHook(new Thread(running::close));
      System.out.println("READY");
      for (Message message : messages(messages)) {
        inbox.accept("killing", message);
      }
      running.awaitStopped();
    }
  }

  static Inbox inbox(HikariDataSource pool) {
    return Inbox.on(JdbcStore.of(pool))
        .named("killing")
        .channel(
            Channel.named("killing")
                .on(String.class)
                .handle("fragile", KillerWorker::handle)
                .build())
        .beat(Duration.ofMillis(200))
        .deadAfter(Duration.ofMillis(800))
        .build();
  }

  /** Healthy ones with the killer in their middle. */
  static List<Message> messages(int count) {
    List<Message> messages = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      messages.add(Message.of("m-" + i, i == count / 2 ? KILLER : "healthy"));
    }
    return messages;
  }

  private static void handle(String payload) throws InterruptedException {
    TimeUnit.MILLISECONDS.sleep(2);
    if (payload.equals(KILLER)) {
      Runtime.getRuntime().halt(HALTED);
    }
  }
}
