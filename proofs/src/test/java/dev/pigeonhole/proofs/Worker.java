package dev.pigeonhole.proofs;

import static dev.pigeonhole.HandlerOption.atMost;
import static dev.pigeonhole.HandlerOption.retrying;
import static dev.pigeonhole.HandlerOption.unordered;

import com.zaxxer.hikari.HikariDataSource;
import dev.pigeonhole.Channel;
import dev.pigeonhole.HandlerTransaction;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.Received;
import dev.pigeonhole.RetryPolicy;
import dev.pigeonhole.RunningInbox;
import dev.pigeonhole.TypeBuilder;
import dev.pigeonhole.event.InboxEvent;
import dev.pigeonhole.event.InboxListener;
import dev.pigeonhole.jdbc.JdbcStore;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.JavaProcess;
import dev.pigeonhole.support.Ledger;
import dev.pigeonhole.support.ParentWatch;
import dev.pigeonhole.support.TestDatabase;
import java.nio.file.Path;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;

/**
 * A worker process of the multi-process proof: handlers that leave traces nobody but the checker
 * reads. Arguments: JDBC address, user, password, directory for its ledger, the milliseconds
 * between two beats, and the version of the application.
 */
public final class Worker {
  static final String CHANNEL = "proof";
  static final String NOISE = "noise";

  /** What the application can do; nobody operates the plain one. */
  enum Version {
    PLAIN("tx", "ordered-tx"),
    FIRST("tx", "ordered-tx", "fragile-tx"),
    SECOND("tx", "ordered-tx", "fragile-tx", "backfill-tx");

    /** The handlers that write once for each message. */
    final List<String> transactional;

    Version(String... transactional) {
      this.transactional = List.of(transactional);
    }
  }

  private Worker() {}

  public static void main(String[] args) throws Exception {
    ParentWatch.install();
    long pid = ProcessHandle.current().pid();
    TestDatabase database = TestDatabase.attach(args[0], args[1], args[2]);
    try (Ledger ledger = Ledger.open(Path.of(args[3], "worker-" + pid + ".log"));
        HikariDataSource pool = database.pool(20)) {
      Duration beat = Duration.ofMillis(Long.parseLong(args[4]));
      Version version = Version.valueOf(args[5]);
      Inbox inbox = inbox(pool, new Traces(ledger, pid), refusals(ledger, pid), beat, version);
      RunningInbox running = inbox.start();
      Runtime.getRuntime().addShutdownHook(new Thread(running::close));
      System.out.println("READY");
      running.awaitStopped();
    }
  }

  static Inbox inbox(
      HikariDataSource pool,
      Traces traces,
      InboxListener listener,
      Duration beat,
      Version version) {
    return Inbox.on(JdbcStore.of(pool))
        .named("proof")
        .channel(channel(traces, version))
        .channel(
            // Forgotten soon, and never sent again: retention works while the faults go on.
            Channel.named(NOISE)
                .on(String.class)
                .named("noise")
                .keepReceipts(Duration.ofSeconds(2))
                .handleInTransaction("noise-tx", traces::transactional, atMost(2), unordered())
                .build())
        .beat(beat)
        .deadAfter(beat.multipliedBy(4))
        .restartDelay(Duration.ofSeconds(1))
        .stopGrace(Duration.ofSeconds(10))
        .listener(listener)
        .build();
  }

  private static Channel channel(Traces traces, Version version) {
    TypeBuilder<String> type =
        Channel.named(CHANNEL)
            .on(String.class)
            .handleMessage("plain", traces::plain, atMost(16))
            .handleInTransaction("tx", traces::transactional, atMost(4))
            .handleInTransaction("ordered-tx", traces::transactional, atMost(4))
            .handleMessage("ordered-plain", traces::orderedPlain, atMost(4));
    if (version != Version.PLAIN) {
      type =
          type.handleInTransaction(
              "fragile-tx",
              traces::fragile,
              atMost(2),
              unordered(),
              retrying(RetryPolicy.fixed(Duration.ofSeconds(1)).maxAttempts(1)));
    }
    if (version == Version.SECOND) {
      type = type.handleInTransaction("backfill-tx", traces::transactional, atMost(2), unordered());
    }
    return type.build();
  }

  private static InboxListener refusals(Ledger ledger, long pid) {
    return InboxListener.create()
        .with(
            InboxEvent.Refused.class,
            event -> ledger.append("REFUSED " + event.handler() + " " + event.seq() + " " + pid))
        .with(
            InboxEvent.NodeDied.class, event -> ledger.append("DIED " + event.node() + " " + now()))
        .with(
            InboxEvent.Restarted.class,
            event -> ledger.append("RESTARTED " + event.loop() + " " + event.cause()));
  }

  /** Starts a worker in a process of its own. */
  static JavaProcess start(TestDatabase database, Path directory, Duration beat, Version version) {
    return JavaProcess.of(Worker.class)
        .heap("256m")
        .args(
            database.jdbcUrl(),
            database.user(),
            database.password(),
            directory,
            beat.toMillis(),
            version)
        .start();
  }

  /** Where transactional handlers leave their traces; no unique key, so that doubles can show. */
  static void createEffects(TestDatabase database) {
    String identity =
        database.kind() == DatabaseKind.MARIADB
            ? "BIGINT AUTO_INCREMENT"
            : "BIGINT GENERATED ALWAYS AS IDENTITY";
    database.execute(
        "CREATE TABLE effect (id "
            + identity
            + " PRIMARY KEY, handler VARCHAR(50), message VARCHAR(200), ordering_key VARCHAR(50),"
            + " number INT, pid BIGINT)");
  }

  static long now() {
    return ChronoUnit.MICROS.between(Instant.EPOCH, Instant.now());
  }

  /** What handlers leave behind. A payload is {@code <key> <number within the key>}. */
  static final class Traces {
    private final Ledger ledger;
    private final long pid;

    Traces(Ledger ledger, long pid) {
      this.ledger = ledger;
      this.pid = pid;
    }

    void plain(Received<String> received) throws InterruptedException {
      if (ThreadLocalRandom.current().nextInt(100) < 3) {
        ledger.append("SLOW " + received.message().id() + " " + pid + " " + now());
        TimeUnit.MILLISECONDS.sleep(1_500);
      }
      pretendToWork();
      ledger.append("PLAIN " + received.message().id() + " " + pid + " " + now());
    }

    void orderedPlain(Received<String> received) throws InterruptedException {
      long started = now();
      ledger.append(
          "START %s %d %d %d".formatted(received.payload(), pid, started, received.laneToken()));
      pretendToWork();
      ledger.append("END " + received.payload() + " " + pid + " " + now());
    }

    void transactional(String payload, HandlerTransaction<String> tx)
        throws SQLException, InterruptedException {
      String[] keyAndNumber = payload.split(" ");
      try (PreparedStatement insert =
          tx.connection()
              .prepareStatement(
                  "INSERT INTO effect (handler, message, ordering_key, number, pid)"
                      + " VALUES (?, ?, ?, ?, ?)")) {
        insert.setString(1, tx.delivery().handler());
        insert.setString(2, tx.delivery().message().id());
        insert.setString(3, keyAndNumber[0]);
        insert.setInt(4, Integer.parseInt(keyAndNumber[1]));
        insert.setLong(5, pid);
        insert.executeUpdate();
      }
      pretendToWork();
    }

    /** Fails now and then after it has written, and is poisoned at once: an operator retries it. */
    void fragile(String payload, HandlerTransaction<String> tx)
        throws SQLException, InterruptedException {
      transactional(payload, tx);
      if (ThreadLocalRandom.current().nextInt(100) < 10) {
        throw new IllegalStateException("not this time");
      }
    }

    private static void pretendToWork() throws InterruptedException {
      TimeUnit.MICROSECONDS.sleep(ThreadLocalRandom.current().nextInt(500, 6_000));
    }
  }
}
