package dev.pigeonhole.rabbitmq;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.rabbitmq.client.AMQP.BasicProperties;
import com.rabbitmq.client.Delivery;
import com.zaxxer.hikari.HikariDataSource;
import dev.pigeonhole.Channel;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.RunningInbox;
import dev.pigeonhole.jdbc.JdbcStore;
import dev.pigeonhole.jdbc.Schema;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.support.FaultProxy;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import dev.pigeonhole.transport.Envelope;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** From a queue through an inbox to its handlers. */
@Timeout(600)
class RabbitInboxTest {
  private static final String CANARY = "canary-4715";

  private final AtomicInteger runs = new AtomicInteger();

  private Channel channel(boolean fails) {
    return Channel.named("things")
        .on(byte[].class)
        .named("thing.happened")
        .handle(
            "note",
            thing -> {
              runs.incrementAndGet();
              if (fails) {
                throw new IllegalStateException("not today");
              }
            })
        .build();
  }

  private static void send(TestQueue queue, String id) {
    send(queue, id, new byte[] {1});
  }

  private static void send(TestQueue queue, String id, byte[] body) {
    queue.send(
        Envelope.of("rabbitmq", queue.name()).id(id).type("thing.happened").body(body).build());
  }

  private static void awaitEmpty(TestQueue queue) {
    Eventually.until("an empty queue", Intake.LIMIT, () -> queue.unacknowledged() == 0);
  }

  @ParameterizedTest
  @EnumSource(names = {"POSTGRES", "MARIADB"})
  void b07_whatCannotBeStoredIsNotAcknowledgedAndComesWhenItCan(DatabaseKind kind) {
    try (TestDatabase database = TestDatabases.open(kind);
        FaultProxy proxy = FaultProxy.to(TestDatabases.server(kind));
        HikariDataSource pool = database.through(proxy).pool(5);
        TestQueue queue = TestQueue.create()) {
      Schema.migrate(database.dataSource());
      try (RunningInbox running =
          Inbox.on(JdbcStore.of(pool)).channel(channel(false), queue.source()).build().start()) {
        send(queue, "before");
        awaitEmpty(queue);
        proxy.refuse(true);
        proxy.cut();
        send(queue, "during");
        Eventually.until("it to be handed out", Intake.LIMIT, () -> queue.ready() == 0);
        assertThat(queue.unacknowledged()).isEqualTo(1);
        proxy.refuse(false);
        awaitEmpty(queue);
        Eventually.until("both to be handled", Intake.LIMIT, () -> runs.get() >= 2);
      }
      assertThat(runs).hasValue(2);
      assertThat(queue.putAside()).isEmpty();
    }
  }

  /** Valid messages are not put aside. The headers of an invalid one do not show its content. */
  @ParameterizedTest
  @EnumSource(names = {"POSTGRES", "MARIADB"})
  void messagesStayInTheQueueWhileTheDatabaseRejectsRows(DatabaseKind kind) {
    String table = kind == DatabaseKind.MARIADB ? "`pigeonhole_message`" : "pigeonhole_message";
    try (TestDatabase database = TestDatabases.open(kind);
        TestQueue queue = TestQueue.create()) {
      Schema.migrate(database.dataSource());
      try (RunningInbox running =
          Inbox.on(JdbcStore.of(database.dataSource()))
              .maxPayload(100)
              .channel(channel(false), queue.source())
              .build()
              .start()) {
        database.execute("ALTER TABLE " + table + " ADD COLUMN extra int NOT NULL");
        send(queue, "m");
        Eventually.until("it to be handed out", Intake.LIMIT, () -> queue.ready() == 0);
        // Too large itself, behind one that is refused only because of the tables.
        send(queue, "huge", CANARY.repeat(20).getBytes(UTF_8));
        Eventually.until("both to be handed out", Intake.LIMIT, () -> queue.ready() == 0);
        assertThat(queue.putAside()).isEmpty();
        assertThat(queue.unacknowledged()).isEqualTo(2);
        database.execute("ALTER TABLE " + table + " DROP COLUMN extra");
        awaitEmpty(queue);
        Eventually.until("it to be handled", Intake.LIMIT, () -> runs.get() >= 1);
      }
      assertThat(runs).hasValue(1);
      assertThat(queue.putAside())
          .singleElement()
          .satisfies(
              aside -> {
                assertThat(aside.getProperties().getMessageId()).isEqualTo("huge");
                assertThat(aside.getProperties().getHeaders().toString())
                    .contains("PH-PAY-")
                    .doesNotContain(CANARY);
              });
    }
  }

  @ParameterizedTest
  @EnumSource(names = {"POSTGRES", "MARIADB"})
  void b08_aHandlerThatFailsLaterDoesNotTouchTheAcknowledgement(DatabaseKind kind) {
    try (TestDatabase database = TestDatabases.open(kind);
        TestQueue queue = TestQueue.create()) {
      Schema.migrate(database.dataSource());
      try (RunningInbox running =
          Inbox.on(JdbcStore.of(database.dataSource()))
              .channel(channel(true), queue.source())
              .build()
              .start()) {
        send(queue, "m");
        Eventually.until("a failure", Intake.LIMIT, () -> runs.get() > 0);
        awaitEmpty(queue);
        assertThat(queue.putAside()).isEmpty();
        Eventually.until("a retry from the database", Intake.LIMIT, () -> runs.get() > 1);
        assertThat(queue.unacknowledged()).isZero();
      }
    }
  }

  /** Between what an inbox keeps and what nobody can read. */
  @Test
  void rq15_headersThatAreTooDeepForAnInboxArePutAsideAsTheyCame() {
    Object deep = "x";
    for (int i = 0; i < 50; i++) {
      deep = List.of(deep);
    }
    Map<String, Object> headers = Map.of("deep", deep);
    try (TestDatabase database = TestDatabases.open(DatabaseKind.H2);
        TestQueue queue = TestQueue.create()) {
      Schema.migrate(database.dataSource());
      queue.publish(
          new Publisher.Outgoing(
              "",
              queue.name(),
              new BasicProperties.Builder()
                  .messageId("deep")
                  .type("thing.happened")
                  .deliveryMode(2)
                  .headers(headers)
                  .build(),
              new byte[] {7}));
      send(queue, "next");
      try (RunningInbox running =
          Inbox.on(JdbcStore.of(database.dataSource()))
              .channel(channel(false), queue.source())
              .build()
              .start()) {
        awaitEmpty(queue);
        Eventually.until("the next to be handled", Intake.LIMIT, () -> runs.get() == 1);
      }
      Delivery aside = queue.putAside().get(0);
      assertThat(aside.getProperties().getMessageId()).isEqualTo("deep");
      assertThat(aside.getBody()).containsExactly(7);
      Map<String, Object> all = aside.getProperties().getHeaders();
      assertThat(all.get("pigeonhole-code")).hasToString("PH-HDR-06");
      assertThat(Fields.in(Map.of("deep", all.get("deep"))).asMap()).isEqualTo(headers);
    }
  }

  @ParameterizedTest
  @EnumSource(names = {"POSTGRES", "MARIADB"})
  void whatComesAgainOverAnotherConnectionIsHandledOnce(DatabaseKind kind) {
    try (TestDatabase database = TestDatabases.open(kind);
        TestQueue queue = TestQueue.create()) {
      Schema.migrate(database.dataSource());
      Duration quick = Duration.ofMillis(20);
      try (RunningInbox running =
          Inbox.on(JdbcStore.of(database.dataSource()))
              .channel(channel(false), queue.source().reconnect(quick, quick))
              .build()
              .start()) {
        Eventually.until("a consumer", Intake.LIMIT, () -> queue.consumers() == 1);
        for (int i = 0; i < 100; i++) {
          send(queue, "m-" + i);
          send(queue, "m-" + i / 2);
          if (i % 20 == 10) {
            queue.proxy().cut();
          }
        }
        awaitEmpty(queue);
        Eventually.until("all to be handled", Intake.LIMIT, () -> runs.get() >= 100);
      }
      assertThat(runs).hasValue(100);
      assertThat(queue.proxy().hits()).isPositive();
    }
  }
}
