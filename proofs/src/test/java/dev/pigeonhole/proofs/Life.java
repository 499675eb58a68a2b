package dev.pigeonhole.proofs;

import static dev.pigeonhole.HandlerOption.within;
import static org.assertj.core.api.Assertions.assertThat;

import com.zaxxer.hikari.HikariDataSource;
import dev.pigeonhole.Acceptance;
import dev.pigeonhole.Channel;
import dev.pigeonhole.HandlerTransaction;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.InboxBuilder;
import dev.pigeonhole.Message;
import dev.pigeonhole.Received;
import dev.pigeonhole.RetryPolicy;
import dev.pigeonhole.RunningInbox;
import dev.pigeonhole.admin.DeliveryView;
import dev.pigeonhole.jdbc.JdbcStore;
import dev.pigeonhole.jdbc.Schema;
import dev.pigeonhole.store.StoreException;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.support.Ledger;
import dev.pigeonhole.support.ParentWatch;
import dev.pigeonhole.support.TestDatabase;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * One life of an application that sends to itself and handles what it sent. With a crash planned it
 * works until it dies; without one it finishes everything that its former lives left and says so.
 * Arguments: JDBC address, user, password, directory of the ledgers, number of this life.
 */
public final class Life {
  static final int ATTEMPTS = 3;
  static final int ROUND = 20;

  /** Nothing takes so long; for a life that is paused it bounds what it keeps from others. */
  private static final Duration TIME_LIMIT = Duration.ofSeconds(20);

  private static final Duration LONGEST = Duration.ofSeconds(200);
  private static final String MIXED = "mixed";
  private static final String ORDERED = "ordered";

  private final TestDatabase database;
  private final Path directory;
  private final Ledger ledger;
  private final int number;

  Life(TestDatabase database, Path directory, Ledger ledger, int number) {
    this.database = database;
    this.directory = directory;
    this.ledger = ledger;
    this.number = number;
  }

  public static void main(String[] args) throws Exception {
    ParentWatch.install();
    int number = Integer.parseInt(args[4]);
    Path directory = Path.of(args[3]);
    TestDatabase database = TestDatabase.attach(args[0], args[1], args[2]);
    try (Ledger ledger = Ledger.open(ledgerOf(directory, number));
        HikariDataSource pool = database.pool(10)) {
      Schema.migrate(pool);
      Tables.createEffects(database);
      new Life(database, directory, ledger, number)
          .live(pool, System.getProperty("pigeonhole.crash", StandStill.point()));
    } catch (Throwable e) {
      e.printStackTrace();
      Runtime.getRuntime().halt(1); // the threads of the inbox would go on
    }
  }

  static Path ledgerOf(Path directory, int number) {
    return directory.resolve("life-%04d.log".formatted(number));
  }

  InboxBuilder inbox(JdbcStore store) {
    return Inbox.on(store)
        .named("life")
        .channel(
            Channel.named(MIXED)
                .on(String.class)
                .handleMessage("plain", this::plain)
                .handleInTransaction("tx", this::transactional, within(TIME_LIMIT))
                .handleMessage("stubborn", this::stubborn)
                .build())
        .channel(
            Channel.named(ORDERED)
                .on(String.class)
                .handleMessage("ordered", this::stubborn)
                .handleInTransaction("ordered-tx", this::transactional, within(TIME_LIMIT))
                .build())
        .lanes(8)
        .concurrency(2)
        .retry(RetryPolicy.fixed(Duration.ofMillis(30)).maxAttempts(ATTEMPTS))
        .polling(Duration.ofMillis(20), Duration.ofMillis(100))
        .beat(Duration.ofMillis(200))
        .deadAfter(Duration.ofMillis(1_500))
        // Dozens of lives end here, and none of them through a handler's fault.
        .maxCrashes(1_000)
        // Not keepReceipts: what is sent again would rightly be new.
        .keepPayload(Duration.ofSeconds(1));
  }

  private void live(HikariDataSource pool, String crash) throws Exception {
    JdbcStore store = JdbcStore.of(pool);
    Inbox inbox = inbox(store).build();
    if (crash.contains("declare-dead") && database.kind() == DatabaseKind.H2) {
      // H2 knows that only one process is there and buries its former lives when it starts; this
      // node never beats, so that somebody has to be declared dead all the same.
      store.nodes().join("ghost", Set.of());
    }
    RunningInbox running = inbox.start();
    unanswered().forEach(id -> send(inbox, List.of(id)));
    if (crash.isEmpty()) {
      finish(running);
    } else {
      workUntilDeath(inbox, crash);
    }
  }

  private void workUntilDeath(Inbox inbox, String crash) throws InterruptedException {
    long end = System.nanoTime() + LONGEST.toNanos();
    boolean big = crash.contains("accept.in-batch");
    for (int round = 0; System.nanoTime() - end < 0; round++) {
      List<String> batch = new ArrayList<>();
      for (int i = 0; i < ROUND; i += round == 0 ? 1 : 3) {
        String id = number + "." + (round * ROUND + i) + (big && i < 5 ? ".big" : "");
        if (i % 2 == 0 && !big) {
          send(inbox, List.of(id));
        } else {
          batch.add(id);
        }
      }
      send(inbox, batch.stream().filter(id -> !isOrdered(id)).toList());
      send(inbox, batch.stream().filter(Life::isOrdered).toList());
      if (!big) {
        send(inbox, List.of(number + "." + ThreadLocalRandom.current().nextInt(ROUND)));
      }
      for (DeliveryView poisoned : inbox.admin().poisoned("stubborn", 1)) {
        retry(inbox, poisoned.message().id());
      }
      TimeUnit.MILLISECONDS.sleep(100);
    }
    System.out.println("NOT REACHED " + crash);
    Runtime.getRuntime().halt(2);
  }

  private void retry(Inbox inbox, String id) {
    ledger.append("RETRY " + id);
    try {
      inbox.admin().as("proof").deliveries().handler("stubborn").id(id).retry("again").run();
    } catch (StoreException e) {
      if (!StandStill.isOver()) {
        throw e;
      }
      // It was paused in there until the database had ended its session.
    }
  }

  private void finish(RunningInbox running) {
    Eventually.passes(LONGEST, () -> assertThat(Tables.open(database)).isEmpty());
    running.close();
    System.out.println("DONE");
  }

  // ---- sending

  /**
   * What a former life has sent without being told that it arrived; a real source does the same.
   */
  private List<String> unanswered() throws Exception {
    Set<String> open = new LinkedHashSet<>();
    try (Stream<Path> files = Files.list(directory)) {
      for (Path file : files.filter(each -> each.toString().contains("life-")).sorted().toList()) {
        for (String line : Ledger.read(file)) {
          String[] words = line.split(" ");
          if (words[0].equals("SEND")) {
            open.add(words[1]);
          } else if (words[0].equals("ANSWER")) {
            open.remove(words[1]);
          }
        }
      }
    }
    return List.copyOf(open);
  }

  private void send(Inbox inbox, List<String> ids) {
    if (ids.isEmpty()) {
      return;
    }
    ids.forEach(id -> ledger.append("SEND " + id));
    String channel = isOrdered(ids.get(0)) ? ORDERED : MIXED;
    List<Message> messages = ids.stream().map(Life::message).toList();
    List<Acceptance> answers;
    try {
      answers =
          messages.size() == 1
              ? List.of(inbox.accept(channel, messages.get(0)))
              : inbox.accept(channel, messages);
    } catch (StoreException e) {
      if (!StandStill.isOver()) {
        throw e;
      }
      return; // it was paused in there until the database had ended its session
    }
    for (int i = 0; i < answers.size(); i++) {
      ledger.append("ANSWER " + ids.get(i) + " " + answers.get(i).getClass().getSimpleName());
    }
  }

  private static Message message(String id) {
    // Five big ones do not fit into one statement.
    String payload = id.endsWith(".big") ? "x".repeat(900_000) : id;
    Message message = Message.of(id, payload).from("life");
    return isOrdered(id) ? message.orderedBy(keyOf(id)) : message;
  }

  // ---- what an id means

  static int numberOf(String id) {
    return Integer.parseInt(id.split("\\.")[1]);
  }

  static boolean isOrdered(String id) {
    return numberOf(id) % ROUND >= 12;
  }

  static String keyOf(String id) {
    return id.split("\\.")[0] + "-" + numberOf(id) % 2;
  }

  static boolean isHopeless(String id) {
    return numberOf(id) % ROUND == 3;
  }

  /** How often it fails before it succeeds. */
  static int failuresOf(String id) {
    return switch (numberOf(id) % ROUND) {
      case 5, 8 -> 2;
      case 14, 17 -> 1;
      default -> 0;
    };
  }

  // ---- handlers

  private void plain(Received<String> received) {
    ledger.append("RUN plain " + received.message().id());
  }

  private void stubborn(Received<String> received) {
    String id = received.message().id();
    ledger.append("RUN " + received.handler() + " " + id);
    if (isHopeless(id) || received.attempt() <= failuresOf(id)) {
      throw new IllegalStateException("attempt " + received.attempt());
    }
    ledger.append("DONE " + received.handler() + " " + id);
  }

  private void transactional(String payload, HandlerTransaction<String> tx) throws SQLException {
    Received<String> received = tx.delivery();
    ledger.append(
        "TX %s %s attempt-%d"
            .formatted(received.handler(), received.message().id(), received.attempt()));
    try (PreparedStatement insert =
        tx.connection().prepareStatement("INSERT INTO effect (handler, message) VALUES (?, ?)")) {
      insert.setString(1, tx.delivery().handler());
      insert.setString(2, tx.delivery().message().id());
      insert.executeUpdate();
    }
  }
}
