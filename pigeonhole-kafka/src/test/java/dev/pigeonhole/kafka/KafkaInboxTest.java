package dev.pigeonhole.kafka;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.Channel;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.RunningInbox;
import dev.pigeonhole.event.InboxEvent;
import dev.pigeonhole.jdbc.JdbcStore;
import dev.pigeonhole.jdbc.Schema;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import dev.pigeonhole.testkit.MemoryStore;
import dev.pigeonhole.transport.MessageMapper;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** From a topic through an inbox to its handlers. */
class KafkaInboxTest extends BrokerTest {
  private static final String CANARY = "canary-4714";

  private final String topic = broker.topic(2);
  private final MemoryStore store = MemoryStore.create();
  private final List<String> handled = new CopyOnWriteArrayList<>();
  private final Map<String, byte @Nullable []> payloads =
      Collections.synchronizedMap(new HashMap<>());
  private final Channel channel =
      Channel.named("things")
          .mappedBy(MessageMapper.plain().orderedByKey())
          .on(byte[].class)
          .named("thing.happened")
          .handleMessage(
              "note",
              received -> {
                payloads.put(received.message().id(), received.payload());
                handled.add(received.message().id());
              })
          .build();

  KafkaInboxTest() {
    super(TestBroker.shared());
  }

  private RunningInbox startInbox() {
    return Inbox.on(store)
        .channel(channel, KafkaSource.topic(broker.config(), topic))
        .build()
        .start();
  }

  private void awaitHandled(int count) {
    Eventually.until(count + " to be handled", LIMIT, () -> handled.size() >= count);
  }

  @Test
  void kf06_recordsThatComeAgainHaveTheirEffectOnce() {
    broker.send(topic, 0, "a-0", "a-1");
    broker.send(topic, 1, "b-0");
    try (RunningInbox running = startInbox()) {
      awaitHandled(3);
      awaitNoLag(topic, 2);
    }
    // As after a crash between the commit of the store and that of the offsets.
    broker.setOffset(new TopicPartition(topic, 0), new OffsetAndMetadata(0));
    broker.setOffset(new TopicPartition(topic, 1), new OffsetAndMetadata(0));
    try (RunningInbox running = startInbox()) {
      awaitNoLag(topic, 2);
      broker.send(topic, 1, "b-1");
      awaitHandled(4);
    }
    assertThat(handled).containsExactlyInAnyOrder("a-0", "a-1", "b-0", "b-1");
  }

  @Test
  void kf09_d110_tombstonesAndRecordsWithoutAKeyAreStoredAndSeenAsSuch() {
    broker.send(0, TestBroker.envelope(topic, "tombstone").key("k").body(null).build());
    broker.send(0, TestBroker.envelope(topic, "empty").body(new byte[0]).build());
    try (RunningInbox running = startInbox()) {
      awaitHandled(2);
    }
    assertThat(payloads).containsEntry("tombstone", null);
    assertThat(payloads.get("empty")).isEqualTo(new byte[0]);
  }

  @Test
  void recordsOfAKeyAreHandledInTheirOrder() {
    List<String> ids = ids("m-", 50);
    for (String id : ids) {
      broker.send(1, TestBroker.envelope(topic, id).key("one").build());
    }
    try (RunningInbox running = startInbox()) {
      awaitHandled(ids.size());
    }
    assertThat(handled).containsExactlyElementsOf(ids);
  }

  /** Valid records are not parked. The headers of a parked one do not show its content. */
  @ParameterizedTest
  @EnumSource(names = {"POSTGRES", "MARIADB"})
  void recordsStayInTheTopicWhileTheDatabaseRejectsRows(DatabaseKind kind) {
    String table = kind == DatabaseKind.MARIADB ? "`pigeonhole_message`" : "pigeonhole_message";
    TopicPartition partition = new TopicPartition(broker.topic(1), 0);
    String parking = broker.topic(1);
    AtomicInteger rejectedRows = new AtomicInteger();
    try (TestDatabase database = TestDatabases.open(kind)) {
      Schema.migrate(database.dataSource());
      KafkaSource source = KafkaSource.topic(broker.config(), partition.topic()).parkingIn(parking);
      try (RunningInbox running =
          Inbox.on(JdbcStore.of(database.dataSource()))
              .maxPayload(100)
              .listener(
                  event -> {
                    if (event instanceof InboxEvent.AcceptFailed) {
                      rejectedRows.incrementAndGet();
                    }
                  })
              .channel(channel, source)
              .build()
              .start()) {
        database.execute("ALTER TABLE " + table + " ADD COLUMN extra int NOT NULL");
        broker.send(partition.topic(), 0, "m-1");
        // Too large itself, between two that are rejected only because of the tables.
        broker.send(
            0,
            TestBroker.envelope(partition.topic(), "huge")
                .body(CANARY.repeat(20).getBytes(UTF_8))
                .build());
        broker.send(partition.topic(), 0, "m-2");
        Eventually.until("a second try", LIMIT, () -> rejectedRows.get() >= 2);
        assertThat(broker.read(parking)).isEmpty();
        assertThat(broker.committed(partition)).isZero();

        database.execute("ALTER TABLE " + table + " DROP COLUMN extra");
        awaitNoLag(partition.topic(), 1);
        awaitHandled(2);
        awaitNoTrouble(source);
        Eventually.until("a healthy node", LIMIT, running::healthy);
      }
    }
    assertThat(handled).containsExactlyInAnyOrder("m-1", "m-2");
    assertThat(broker.read(parking))
        .singleElement()
        .satisfies(
            parked -> {
              assertThat(TestBroker.header(parked, "pigeonhole-id")).isEqualTo("huge");
              assertThat(TestBroker.header(parked, "pigeonhole-code")).startsWith("PH-PAY-");
              assertThat(parked.headers())
                  .allSatisfy(
                      header ->
                          assertThat(new String(header.value(), UTF_8)).doesNotContain(CANARY));
            });
  }
}
