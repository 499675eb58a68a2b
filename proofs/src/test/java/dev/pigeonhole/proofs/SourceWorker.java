package dev.pigeonhole.proofs;

import static dev.pigeonhole.HandlerOption.atMost;

import com.zaxxer.hikari.HikariDataSource;
import dev.pigeonhole.Channel;
import dev.pigeonhole.HandlerTransaction;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.RunningInbox;
import dev.pigeonhole.event.InboxEvent;
import dev.pigeonhole.event.InboxListener;
import dev.pigeonhole.jdbc.JdbcStore;
import dev.pigeonhole.support.ParentWatch;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.transport.MessageSource;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/**
 * What the workers of all brokers have in common: an inbox that one source feeds, and a handler
 * that writes one row for each message in the transaction of its receipt. It prints what troubles
 * the source, and what came twice.
 */
final class SourceWorker {
  static final String TYPE = "sent";

  /** As the library itself writes it: a copy that says it otherwise would be a conflict. */
  static final String TEXT = "text/plain;charset=utf-8";

  static final int ARGUMENTS = 3;

  private static final Duration BEAT = Duration.ofMillis(500);
  private static final int POOL_WAIT_MILLIS = 2_000;
  private static final long LOOK_MILLIS = 20;

  private SourceWorker() {}

  /** Works until it is killed or stopped. The first arguments are those of the database. */
  static void work(String[] args, MessageSource source, Supplier<Optional<String>> trouble)
      throws Exception {
    ParentWatch.install();
    // A pool reads its settings again once in such a period, and otherwise every 30 s.
    System.setProperty("com.zaxxer.hikari.housekeeping.periodMs", "500");
    TestDatabase database = TestDatabase.attach(args[0], args[1], args[2]);
    try (HikariDataSource pool = database.pool(12)) {
      Channel channel =
          Channel.named("sources")
              .on(String.class)
              .named(TYPE)
              .handleInTransaction("effect", SourceWorker::write, atMost(4))
              .build();
      RunningInbox running =
          Inbox.on(JdbcStore.of(pool))
              .named("sources")
              .channel(channel, new ObservedSource(source))
              .beat(BEAT)
              .deadAfter(BEAT.multipliedBy(4))
              // Dozens of workers end here, and none of them through a handler's fault.
              .maxCrashes(1_000)
              .listener(
                  InboxListener.create()
                      .with(
                          InboxEvent.Repeated.class,
                          event -> System.out.println("REPEATED " + event.message().id())))
              .build()
              .start();
      pool.setConnectionTimeout(POOL_WAIT_MILLIS); // the start may take longer
      Runtime.getRuntime().addShutdownHook(new Thread(running::close));
      watch(trouble);
      System.out.println("READY");
      running.awaitStopped();
    }
  }

  private static void write(String payload, HandlerTransaction<String> tx) throws SQLException {
    try (PreparedStatement insert =
        tx.connection().prepareStatement("INSERT INTO effect (handler, message) VALUES (?, ?)")) {
      insert.setString(1, tx.delivery().handler());
      insert.setString(2, tx.delivery().message().id());
      insert.executeUpdate();
    }
  }

  private static void watch(Supplier<Optional<String>> trouble) {
    Thread thread =
        new Thread(
            () -> {
              String last = "";
              while (true) {
                String now = trouble.get().orElse("");
                if (!now.equals(last)) {
                  System.out.println(now.isEmpty() ? "FINE" : "TROUBLE " + now);
                  last = now;
                }
                try {
                  TimeUnit.MILLISECONDS.sleep(LOOK_MILLIS);
                } catch (InterruptedException e) {
                  return;
                }
              }
            },
            "trouble");
    thread.setDaemon(true);
    thread.start();
  }
}
