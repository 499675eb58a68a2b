package dev.pigeonhole.examples.docs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.Channel;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.Message;
import dev.pigeonhole.MessageRef;
import dev.pigeonhole.OnPoison;
import dev.pigeonhole.PoisonException;
import dev.pigeonhole.RetryPolicy;
import dev.pigeonhole.RunningInbox;
import dev.pigeonhole.admin.DeliveryState;
import dev.pigeonhole.admin.InboxAdmin;
import dev.pigeonhole.jdbc.JdbcStore;
import dev.pigeonhole.jdbc.Schema;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The SQL that operators are given is that of the schema, and it answers. */
class RunbookTest {
  private static final Duration PATIENCE = Duration.ofMinutes(3);

  @Test
  void theSqlForOperatorsIsMadeFromTheSchema() throws Exception {
    Map<DatabaseKind, RunbookSql> databases = new EnumMap<>(DatabaseKind.class);
    for (DatabaseKind kind :
        List.of(DatabaseKind.POSTGRES, DatabaseKind.MARIADB, DatabaseKind.H2)) {
      try (TestDatabase database = TestDatabases.open(kind)) {
        Schema.migrate(database.dataSource());
        databases.put(kind, new RunbookSql(database));
      }
    }
    List<String> page = RunbookSql.page(databases);
    Path made = Files.createDirectories(Path.of("target")).resolve("sql.md");
    Files.write(made, page);
    assertThat(Documents.lines(Documents.ROOT.resolve("docs/sql.md")))
        .as("docs/sql.md is not what the schema says; copy examples/%s over it", made)
        .containsExactlyElementsOf(page);
  }

  @ParameterizedTest
  @EnumSource
  void everyStatementAnswers(DatabaseKind kind) {
    try (TestDatabase database = TestDatabases.open(kind)) {
      Schema.migrate(database.dataSource());
      RunbookSql sql = new RunbookSql(database);
      try (RunningInbox running = somethingOfEverything(database)) {
        List<String> silent = new ArrayList<>();
        for (RunbookSql.Question question : RunbookSql.ALL) {
          if (database.rows(sql.of(question)).isEmpty()) {
            silent.add(question.title());
          }
        }
        assertThat(silent).as("questions without an answer").isEmpty();
        assertThat(database.rows(sql.of(question("Blocked keys"))))
            .singleElement()
            .satisfies(
                row -> {
                  assertThat(row).containsEntry("ordering_key", "c-1");
                  assertThat(((Number) row.get("waiting")).intValue()).isEqualTo(1);
                });
        assertThat(database.rows(sql.of(question("Poison by kind"))))
            .singleElement()
            .satisfies(row -> assertThat(row).containsEntry("error_code", "PH-HND-04"));
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void blockedKeysAreThoseThatTheAdministrationLists(DatabaseKind kind) {
    try (TestDatabase database = TestDatabases.open(kind)) {
      Schema.migrate(database.dataSource());
      RunbookSql sql = new RunbookSql(database);
      var builder = Inbox.on(JdbcStore.of(database.pool(8)));
      for (OnPoison each : OnPoison.values()) {
        builder.channel(
            Channel.named(each.name())
                .onPoison(each)
                .on(String.class)
                .handle(
                    "handle-" + each,
                    text -> {
                      if (text.equals("hopeless")) {
                        throw new PoisonException("no such customer");
                      }
                    })
                .build());
      }
      Inbox inbox = builder.build();
      for (OnPoison each : OnPoison.values()) {
        for (String key : List.of("k-1", "k-2")) {
          inbox.accept(each.name(), Message.of(key + "/1", "hopeless").orderedBy(key));
          inbox.accept(each.name(), Message.of(key + "/2", "hopeless").orderedBy(key));
          inbox.accept(each.name(), Message.of(key + "/3", "fine").orderedBy(key));
        }
      }
      inbox.drain();
      String held = OnPoison.HOLD_SEQUENCE.name();
      inbox.admin().complete(held, "k-2/1", "handle-" + held, "done by hand");

      List<String> listed =
          inbox.admin().blockedKeys(100).stream()
              .map(
                  key ->
                      "%s %s %s %s %s"
                          .formatted(
                              key.handler(),
                              key.orderingKey(),
                              key.head().map(MessageRef::id).orElse(null),
                              key.held() ? "yes" : "no",
                              key.waiting()))
              .toList();
      assertThat(listed).hasSize(4);
      assertThat(database.rows(sql.of(question("Blocked keys"))))
          .extracting(
              row ->
                  "%s %s %s %s %s"
                      .formatted(
                          row.get("handler_key"),
                          row.get("ordering_key"),
                          row.get("id"),
                          row.get("held"),
                          row.get("waiting")))
          .containsExactlyInAnyOrderElementsOf(listed);
    }
  }

  @ParameterizedTest
  @EnumSource
  void openWorkIsFreshWorkAndWhatIsDue(DatabaseKind kind) {
    try (TestDatabase database = TestDatabases.open(kind)) {
      Schema.migrate(database.dataSource());
      RunbookSql sql = new RunbookSql(database);
      Inbox inbox =
          Inbox.on(JdbcStore.of(database.pool(8)))
              .channel(Channel.named("mail").on(String.class).handle("send", text -> {}).build())
              .build();
      inbox.accept("mail", Message.of("m-1", "x"));
      inbox.drain();
      inbox.admin().replay("mail", "m-1", "send", "lost on the way");
      inbox.accept("mail", Message.of("m-2", "x"));
      inbox.accept("mail", Message.of("m-3", "x").notBefore(Instant.now().plusSeconds(3_600)));

      assertThat(database.rows(sql.of(question("Open work by handler"))))
          .singleElement()
          .satisfies(row -> assertThat(((Number) row.get("deliveries")).intValue()).isEqualTo(2));
    }
  }

  private static RunbookSql.Question question(String title) {
    return RunbookSql.ALL.stream().filter(it -> it.title().equals(title)).findFirst().orElseThrow();
  }

  /** Poisoned, blocked, scheduled, waiting, completed and doubtful deliveries. */
  private static RunningInbox somethingOfEverything(TestDatabase database) {
    Channel orders =
        Channel.named("orders")
            .on(String.class)
            .handle(
                "send-receipt",
                text -> {
                  if (text.equals("hopeless")) {
                    throw new PoisonException("no such customer");
                  }
                })
            .build();
    Channel mail = Channel.named("mail").on(String.class).handle("send-mail", text -> {}).build();
    Inbox inbox =
        Inbox.on(JdbcStore.of(database.pool(8)))
            .channel(orders)
            .channel(mail)
            .retry(RetryPolicy.defaults())
            .keepReceipts(Duration.ofDays(90))
            .build();
    InboxAdmin admin = inbox.admin().as("jane");
    inbox.accept("orders", Message.of("m-1", "hopeless").orderedBy("c-1"));
    inbox.accept("orders", Message.of("m-2", "fine").orderedBy("c-1"));
    inbox.accept("orders", Message.of("m-3", "fine"));
    inbox.accept("orders", Message.of("m-3", "not the same"));
    inbox.accept("orders", Message.of("m-4", "fine").notBefore(Instant.now().plusSeconds(3_600)));
    admin.pause("send-mail", "mail server is down");
    inbox.accept("mail", Message.of("m-5", "fine"));
    RunningInbox running = inbox.start();
    Eventually.until(
        "what can be done",
        PATIENCE,
        () ->
            state(inbox, "m-2") == DeliveryState.BLOCKED
                && state(inbox, "m-3") == DeliveryState.COMPLETED);
    assertThat(Set.of(state(inbox, "m-1"), state(inbox, "m-4")))
        .containsExactlyInAnyOrder(DeliveryState.POISONED, DeliveryState.SCHEDULED);
    return running;
  }

  private static DeliveryState state(Inbox inbox, String id) {
    return inbox.admin().find("orders", id, "send-receipt").orElseThrow().state();
  }
}
