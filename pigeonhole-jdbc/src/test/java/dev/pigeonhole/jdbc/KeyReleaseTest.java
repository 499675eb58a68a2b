package dev.pigeonhole.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.Channel;
import dev.pigeonhole.HandlerTransaction;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.Message;
import dev.pigeonhole.OnPoison;
import dev.pigeonhole.PoisonException;
import dev.pigeonhole.RunningInbox;
import dev.pigeonhole.admin.BlockedKey;
import dev.pigeonhole.admin.DeliveryView;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.support.TestDatabase;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Operators who release keys and retry heads while two nodes work on them and messages arrive. */
class KeyReleaseTest {
  private static final int MESSAGES = Size.of(300, 600);
  private static final int KEYS = 3;

  private final Set<String> poisonous = ConcurrentHashMap.newKeySet();
  private final Map<String, AtomicInteger> inside = new ConcurrentHashMap<>();
  private final List<String> overlaps = new CopyOnWriteArrayList<>();

  private void handle(String text, HandlerTransaction<String> transaction) throws SQLException {
    String id = transaction.delivery().message().id();
    String key = "k" + Integer.parseInt(text) % KEYS;
    AtomicInteger running = inside.computeIfAbsent(key, any -> new AtomicInteger());
    if (running.incrementAndGet() > 1) {
      overlaps.add(id);
    }
    try {
      if (poisonous.contains(id)) {
        throw new PoisonException("not now");
      }
      try (PreparedStatement insert =
          transaction.connection().prepareStatement("INSERT INTO effect (text) VALUES (?)")) {
        insert.setString(1, text);
        insert.execute();
      }
    } finally {
      running.decrementAndGet();
    }
  }

  private Inbox inbox(TestDatabase database, OnPoison onPoison) {
    return Inbox.on(JdbcStore.of(database.pool(12)).beatsOn(database.dataSource()))
        .lanes(4)
        .polling(Duration.ofMillis(5), Duration.ofMillis(50))
        .channel(
            Channel.named("c")
                .onPoison(onPoison)
                .on(String.class)
                .handleInTransaction("h", this::handle)
                .build())
        .build();
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#servers")
  void nothingIsLostOrDoneTwiceAndTheHeldKeepTheirOrder(TestDatabase database) {
    run(database, OnPoison.HOLD_SEQUENCE);
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#servers")
  void nothingIsLostOrDoneTwiceAndTheBlockedKeepTheirOrder(TestDatabase database) {
    run(database, OnPoison.BLOCK_KEY);
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#servers")
  void nothingIsLostOrDoneTwiceAndTheSkippedKeepTheirOrder(TestDatabase database) {
    run(database, OnPoison.SKIP);
  }

  private void run(TestDatabase database, OnPoison onPoison) {
    InboxTables.in(database);
    database.execute(
        switch (database.kind()) {
          case MARIADB ->
              "CREATE TABLE effect (n bigint AUTO_INCREMENT PRIMARY KEY, text varchar(20))";
          default ->
              "CREATE TABLE effect (n bigint GENERATED ALWAYS AS IDENTITY, text varchar(20))";
        });
    Inbox inbox = inbox(database, onPoison);
    Inbox other = inbox(database, onPoison);
    try (RunningInbox one = inbox.start();
        RunningInbox two = other.start()) {
      CompletableFuture<?> producer =
          CompletableFuture.runAsync(
              () -> {
                for (int i = 0; i < MESSAGES; i++) {
                  if (i % 50 < KEYS) {
                    poisonous.add("m" + i);
                  }
                  inbox.accept(
                      "c", Message.of("m" + i, String.valueOf(i)).orderedBy("k" + i % KEYS));
                }
              });
      int released = 0;
      while (!producer.isDone() || released < 20) {
        for (BlockedKey key : inbox.admin().blockedKeys(10)) {
          inbox.admin().releaseKey(key.handler(), key.orderingKey(), "go on");
        }
        released++;
      }
      producer.join();
      // From now on nothing is wrong with them any more: they are retried, late but never beside
      // another of their key.
      poisonous.clear();
      Eventually.until(
          "everything to be done",
          Duration.ofMinutes(5),
          () -> {
            for (BlockedKey key : other.admin().blockedKeys(10)) {
              other.admin().releaseKey(key.handler(), key.orderingKey(), "go on");
            }
            for (DeliveryView view : other.admin().poisoned("h", 100)) {
              other.admin().retry(view.message().source(), view.message().id(), "h", "mended");
            }
            return database.count("SELECT count(*) FROM effect") >= MESSAGES;
          });
      Eventually.until(Duration.ofMinutes(3), () -> one.healthy() && two.healthy());
    }
    List<Integer> done =
        database.rows("SELECT text FROM effect ORDER BY n").stream()
            .map(row -> Integer.valueOf(row.get("text").toString()))
            .toList();
    assertThat(done).hasSize(MESSAGES).doesNotHaveDuplicates();
    assertThat(overlaps).isEmpty();
    for (int k = 0; k < KEYS; k++) {
      int key = k;
      assertThat(done.stream().filter(n -> n % KEYS == key && n % 50 >= KEYS).toList())
          .as("key k%s", key)
          .isSorted();
    }
    assertThat(inbox.admin().blockedKeys(10)).isEmpty();
    assertThat(inbox.admin().counts().get(0).open().value()).isZero();
  }
}
