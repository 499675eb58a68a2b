package dev.pigeonhole.examples.docs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.Channel;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.Message;
import dev.pigeonhole.RunningInbox;
import dev.pigeonhole.jdbc.JdbcStore;
import dev.pigeonhole.jdbc.Schema;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.stream.IntStream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What a kept message costs, as the page for operators says. */
class SizingTest {
  private static final int MESSAGES = 10_000;
  private static final int BATCH = 500;
  private static final int CONTENT = 500;

  @ParameterizedTest
  @EnumSource(names = {"POSTGRES", "MARIADB"})
  void aKeptMessageCostsWhatThePageSays(DatabaseKind kind) {
    try (TestDatabase database = TestDatabases.open(kind)) {
      Schema.migrate(database.dataSource());
      deliver(database);
      settleSizes(database);
      long message = size(database, "message") / MESSAGES;
      long receipt = size(database, "receipt") / MESSAGES;
      System.out.printf(
          "%s: a message of %d bytes takes %d bytes, its receipt %d%n",
          kind, CONTENT, message, receipt);
      List<Integer> told = told(kind);
      // Pages are allocated in steps, and how full they are depends on the version.
      assertThat(message - CONTENT).as("message").isBetween(told.get(0) / 2L, told.get(0) * 2L);
      assertThat(receipt).as("receipt").isBetween(told.get(1) / 2L, told.get(1) * 2L);
    }
  }

  private static void deliver(TestDatabase database) {
    Inbox inbox =
        Inbox.on(JdbcStore.of(database.pool(6)))
            .channel(Channel.named("orders").on(String.class).handle("h", text -> {}).build())
            .build();
    String content = "x".repeat(CONTENT);
    try (RunningInbox running = inbox.start()) {
      for (int first = 0; first < MESSAGES; first += BATCH) {
        inbox.accept(
            "orders",
            IntStream.range(first, first + BATCH)
                .mapToObj(
                    number ->
                        Message.of("0f8fad5b-d9cb-469f-a165-%012d".formatted(number), content))
                .toList());
      }
      Eventually.until(
          "all receipts",
          Duration.ofMinutes(5),
          () -> database.count("SELECT COUNT(*) FROM pigeonhole_receipt") == MESSAGES);
    }
  }

  private static void settleSizes(TestDatabase database) {
    if (database.kind() == DatabaseKind.MARIADB) {
      database.rows("ANALYZE TABLE pigeonhole_message, pigeonhole_receipt");
    }
  }

  private static long size(TestDatabase database, String table) {
    return database.count(
        database.kind() == DatabaseKind.POSTGRES
            ? "SELECT pg_total_relation_size('pigeonhole_%s')".formatted(table)
            : "SELECT data_length + index_length FROM information_schema.tables"
                + " WHERE table_schema = database() AND table_name = 'pigeonhole_%s'"
                    .formatted(table));
  }

  /** The two numbers in the line of the page that begins with the database's name. */
  private static List<Integer> told(DatabaseKind kind) {
    String begin = "| " + (kind == DatabaseKind.POSTGRES ? "PostgreSQL" : "MariaDB") + " | ";
    List<String> lines =
        Documents.lines(Documents.ROOT.resolve("docs/operations.md")).stream()
            .filter(line -> line.startsWith(begin) && line.contains(" bytes"))
            .toList();
    assertThat(lines).as(begin.toLowerCase(Locale.ROOT)).hasSize(1);
    return java.util.Arrays.stream(lines.get(0).split("\\|"))
        .map(String::strip)
        .filter(cell -> cell.endsWith(" bytes"))
        .map(cell -> Integer.valueOf(cell.replaceAll("[^0-9]", "")))
        .toList();
  }
}
