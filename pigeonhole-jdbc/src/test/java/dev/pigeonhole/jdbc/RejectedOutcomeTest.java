package dev.pigeonhole.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.pigeonhole.Channel;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.Message;
import dev.pigeonhole.RunningInbox;
import dev.pigeonhole.store.StoreException;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.stream.IntStream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * The table of receipts is changed while nodes run, and the database takes none of them. The
 * handler has run; to forget that would be to run it again at once, for as long as it lasts.
 */
class RejectedOutcomeTest {
  private static final Duration LIMIT = Duration.ofMinutes(5);

  private final List<String> handled = new CopyOnWriteArrayList<>();

  private static String table(DatabaseKind kind) {
    return switch (kind) {
      case POSTGRES -> "pigeonhole_receipt";
      case MARIADB -> "`pigeonhole_receipt`";
      case H2 -> "\"pigeonhole_receipt\"";
    };
  }

  private Inbox inbox(TestDatabase database) {
    InboxTables.in(database);
    return Inbox.on(JdbcStore.of(database.pool(12)))
        .beat(Duration.ofMillis(200))
        .lanes(4)
        .channel(Channel.named("c").on(String.class).named("t").handle("h", handled::add).build())
        .build();
  }

  @ParameterizedTest
  @EnumSource(DatabaseKind.class)
  void theHandlerDoesNotRunAgainAndTheReceiptIsWrittenWhenItCanBe(DatabaseKind kind)
      throws Exception {
    try (TestDatabase database = TestDatabases.open(kind)) {
      Inbox inbox = inbox(database);
      String receipts = "SELECT COUNT(*) FROM " + table(kind);
      database.execute("ALTER TABLE %s ADD COLUMN extra int NOT NULL".formatted(table(kind)));
      try (RunningInbox running = inbox.start()) {
        inbox.accept("c", Message.of("m-1", "one"));
        Eventually.until("the first to run", LIMIT, () -> handled.contains("one"));
        for (int more = 0; more < 5; more++) {
          String text = "more " + more; // of which each makes the node look for work
          inbox.accept("c", Message.of(text, text));
          Eventually.until("the next to run", LIMIT, () -> handled.contains(text));
        }
        Eventually.until(Duration.ofMinutes(3), running::healthy);
        assertThat(database.count(receipts)).isZero();

        database.execute("ALTER TABLE %s DROP COLUMN extra".formatted(table(kind)));
        Eventually.until("the receipts", LIMIT, () -> database.count(receipts) == 6);
        assertThat(handled).hasSize(6).doesNotHaveDuplicates();
      }
    }
  }

  /** The new owner runs them once more; the lane would stand still for as long as they are open. */
  @ParameterizedTest
  @EnumSource(names = {"POSTGRES", "MARIADB"})
  void aLaneWithRejectedOutcomesCanMoveToAnotherNode(DatabaseKind kind) throws Exception {
    CountDownLatch go = new CountDownLatch(1);
    try (TestDatabase database = TestDatabases.open(kind)) {
      InboxTables.in(database);
      Inbox inbox =
          Inbox.on(JdbcStore.of(database.pool(12)))
              .beat(Duration.ofMillis(200))
              .lanes(4)
              .channel(
                  Channel.named("c")
                      .on(String.class)
                      .named("t")
                      .handle(
                          "h",
                          text -> {
                            go.await();
                            handled.add(text);
                          })
                      .build())
              .build();
      try (RunningInbox one = inbox.start()) {
        List<String> first = accept(inbox, "first ");
        long last = database.count("SELECT MAX(seq) FROM pigeonhole_message");
        database.execute(
            "ALTER TABLE %s ADD CONSTRAINT later CHECK (seq > %d)".formatted(table(kind), last));
        go.countDown();
        Eventually.until("the first to run", LIMIT, () -> handled.containsAll(first));
        try (RunningInbox other = inbox(database).start()) {
          Eventually.until(
              "lanes on both nodes",
              LIMIT,
              () -> inbox.admin().nodes().stream().allMatch(node -> node.lanes() == 2));
          List<String> second = accept(inbox, "second ");
          Eventually.until("the second to run", LIMIT, () -> handled.containsAll(second));
          Eventually.until(Duration.ofMinutes(3), one::healthy);
          Eventually.until(Duration.ofMinutes(3), other::healthy);

          database.execute("ALTER TABLE %s DROP CONSTRAINT later".formatted(table(kind)));
          Eventually.until(
              "the receipts",
              LIMIT,
              () -> database.count("SELECT COUNT(*) FROM " + table(kind)) == 40);
        }
      }
    }
  }

  private static List<String> accept(Inbox inbox, String prefix) {
    List<String> texts = IntStream.range(0, 20).mapToObj(i -> prefix + i).toList();
    inbox.accept("c", texts.stream().map(text -> Message.of(text, text)).toList());
    return texts;
  }

  @ParameterizedTest
  @EnumSource(DatabaseKind.class)
  void aDrainThrowsInsteadOfRunningTheHandlerForEver(DatabaseKind kind) throws Exception {
    try (TestDatabase database = TestDatabases.open(kind)) {
      Inbox inbox = inbox(database);
      database.execute("ALTER TABLE %s ADD COLUMN extra int NOT NULL".formatted(table(kind)));
      inbox.accept("c", Message.of("m-1", "one"));
      assertThatExceptionOfType(StoreException.class)
          .isThrownBy(inbox::drain)
          .satisfies(e -> assertThat(e.kind()).isEqualTo(StoreException.Kind.PERMANENT));
      assertThat(handled).containsExactly("one");

      database.execute("ALTER TABLE %s DROP COLUMN extra".formatted(table(kind)));
      inbox.drain();
      assertThat(database.count("SELECT COUNT(*) FROM " + table(kind))).isEqualTo(1);
    }
  }
}
