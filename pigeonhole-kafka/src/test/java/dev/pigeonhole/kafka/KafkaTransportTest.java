package dev.pigeonhole.kafka;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.pigeonhole.Headers;
import dev.pigeonhole.PoisonException;
import dev.pigeonhole.support.Direction;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.support.FaultProxy;
import dev.pigeonhole.support.KafkaServer;
import dev.pigeonhole.support.Ports;
import dev.pigeonhole.tck.BrokerTransportContract;
import dev.pigeonhole.transport.Envelope;
import dev.pigeonhole.transport.Sent;
import dev.pigeonhole.transport.Transport;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.UnaryOperator;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerInterceptor;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.acl.AccessControlEntry;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.errors.SaslAuthenticationException;
import org.apache.kafka.common.metrics.KafkaMetric;
import org.apache.kafka.common.metrics.MetricsContext;
import org.apache.kafka.common.metrics.MetricsReporter;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourceType;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** The transport passes the contract on a real broker. */
class KafkaTransportTest extends BrokerTransportContract {
  private static final Duration LIMIT = Duration.ofMinutes(5);

  private static FaultProxy proxy;
  private static KafkaServer server;

  @BeforeAll
  static void start() {
    proxy = FaultProxy.to("127.0.0.1", Ports.free());
    server = KafkaServer.start(proxy);
  }

  @AfterAll
  static void stop() {
    server.close();
    proxy.close();
  }

  @Test
  void withoutBrokersThereIsNothingToSendTo() {
    assertThatThrownBy(() -> KafkaTransport.topic(Map.of(), "orders"))
        .hasMessageStartingWith("PH-KFK-08")
        .hasMessageContaining("orders");
  }

  @Test
  void settingsOfTheProducerReachIt() throws InterruptedException {
    try (Topic topic = new Topic()) {
      Transport transport =
          KafkaTransport.topic(
              Map.of(
                  "bootstrap.servers",
                  server.bootstrap(),
                  "client.id",
                  "shop",
                  "max.request.size",
                  100_000,
                  "interceptor.classes",
                  Witness.class.getName()),
              topic.topic);
      List<Sent> sent =
          TestBroker.answers(
              transport,
              TestBroker.envelope(topic.topic, "m-1").build(),
              TestBroker.envelope(topic.topic, "large").body(new byte[200_000]).build());
      transport.close();

      assertThat(sent.get(0)).isInstanceOf(Sent.Confirmed.class);
      assertThat(((Sent.Failed) sent.get(1)).cause()).hasMessageStartingWith("PH-PAY-02");
      assertThat(Witness.SEEN).contains("shop " + topic.topic);
    }
  }

  /** Sees what a producer sends, if it is asked to. */
  public static final class Witness implements ProducerInterceptor<byte[], byte[]> {
    static final Set<String> SEEN = ConcurrentHashMap.newKeySet();
    private String client = "";

    @Override
    public void configure(Map<String, ?> configs) {
      client = String.valueOf(configs.get("client.id"));
    }

    @Override
    public ProducerRecord<byte[], byte[]> onSend(ProducerRecord<byte[], byte[]> record) {
      SEEN.add(client + " " + record.topic());
      return record;
    }

    @Override
    public void close() {}
  }

  @Test
  void theTopicSaysHowLargeARecordMayBe() throws InterruptedException {
    try (TestBroker broker = TestBroker.on(server)) {
      String topic = "large-" + broker.group;
      broker.create(topic, 1, Map.of("max.message.bytes", "5000000"));
      Transport transport = Topic.to(topic);
      List<Sent> sent =
          TestBroker.answers(
              transport,
              TestBroker.envelope(topic, "large").body(new byte[3_000_000]).build(),
              TestBroker.envelope(topic, "larger").body(new byte[6_000_000]).build());
      transport.close();

      assertThat(sent.get(0)).isInstanceOf(Sent.Confirmed.class);
      assertThat(((Sent.Failed) sent.get(1)).cause()).hasMessageStartingWith("PH-PAY-02");
    }
  }

  @Test
  void theBrokersAreAskedForTheTopicOnce() throws InterruptedException {
    try (Topic topic = new Topic()) {
      Transport transport =
          KafkaTransport.topic(
              Map.of(
                  "bootstrap.servers",
                  server.bootstrap(),
                  "client.id",
                  topic.topic,
                  "metric.reporters",
                  Clients.class.getName()),
              topic.topic);
      assertThat(send(transport, "m-0")).isInstanceOf(Sent.Confirmed.class);
      List<String> clients = Clients.of(topic.topic);
      for (int i = 1; i < 4; i++) {
        assertThat(send(transport, "m-" + i)).isInstanceOf(Sent.Confirmed.class);
      }
      transport.close();

      // The first message may have been sent again, each time after another question.
      assertThat(clients)
          .containsOnly("kafka.admin.client " + topic.topic, "kafka.producer " + topic.topic)
          .containsOnlyOnce("kafka.producer " + topic.topic);
      assertThat(Clients.of(topic.topic)).isEqualTo(clients);
    }
  }

  private static Sent send(Transport transport, String id) throws InterruptedException {
    return TestBroker.answers(transport, TestBroker.envelope(transport.destination(), id).build())
        .get(0);
  }

  /** Sees which clients are made, of those that it is given to. */
  public static final class Clients implements MetricsReporter {
    static final List<String> SEEN = new CopyOnWriteArrayList<>();
    private String client = "";

    static List<String> of(String client) {
      return SEEN.stream().filter(each -> each.endsWith(" " + client)).toList();
    }

    @Override
    public void configure(Map<String, ?> configs) {
      client = String.valueOf(configs.get("client.id"));
    }

    @Override
    public void contextChange(MetricsContext context) {
      SEEN.add(context.contextLabels().get(MetricsContext.NAMESPACE) + " " + client);
    }

    @Override
    public void init(List<KafkaMetric> metrics) {}

    @Override
    public void metricChange(KafkaMetric metric) {}

    @Override
    public void metricRemoval(KafkaMetric metric) {}

    @Override
    public void close() {}
  }

  @Test
  void aTopicThatIsDeletedLaterIsMissedAndFoundAgain() throws InterruptedException {
    try (Topic topic = new Topic()) {
      Transport transport =
          KafkaTransport.topic(
              Map.of(
                  "bootstrap.servers",
                  server.bootstrap(),
                  "request.timeout.ms",
                  2_000,
                  "delivery.timeout.ms",
                  3_000),
              topic.topic);
      // This producer gives up after three seconds, which a busy broker may need for the first one.
      Eventually.passes(
          LIMIT, () -> assertThat(send(transport, "m-1")).isInstanceOf(Sent.Confirmed.class));
      TestBroker.get(topic.broker.admin().deleteTopics(List.of(topic.topic)).all());
      Eventually.until("it to be gone", LIMIT, () -> !topic.broker.exists(topic.topic));

      // Until the broker itself has heard of it, it may even confirm.
      Eventually.passes(
          LIMIT, () -> assertThat(send(transport, "m-2")).isInstanceOf(Sent.Unroutable.class));
      Eventually.passes(LIMIT, () -> topic.broker.create(topic.topic, 1, Map.of()));
      Eventually.passes(
          LIMIT, () -> assertThat(send(transport, "m-2")).isInstanceOf(Sent.Confirmed.class));
      transport.close();
    }
  }

  @Test
  void whoeverMayNotSeeTheTopicIsToldSoAndNotThatThereIsNone() throws InterruptedException {
    try (Topic topic = new Topic()) {
      AclBinding denied =
          new AclBinding(
              new ResourcePattern(ResourceType.TOPIC, topic.topic, PatternType.LITERAL),
              new AccessControlEntry(
                  "User:ANONYMOUS", "*", AclOperation.DESCRIBE, AclPermissionType.DENY));
      TestBroker.get(topic.broker.admin().createAcls(List.of(denied)).all());
      Eventually.passes(
          LIMIT, () -> assertThatThrownBy(() -> topic.broker.partitionsOf(topic.topic)));
      Transport transport = topic.transport();
      assertThat(((Sent.Failed) send(transport, "m-1")).cause())
          .hasMessageStartingWith("PH-OBX-04")
          .hasMessageContaining("Not authorized to access topics");

      TestBroker.get(topic.broker.admin().deleteAcls(List.of(denied.toFilter())).all());
      Eventually.passes(
          LIMIT, () -> assertThat(send(transport, "m-1")).isInstanceOf(Sent.Confirmed.class));
      transport.close();
    }
  }

  @Test
  void aHeaderThatKafkaCannotCarryFailsItsOwnMessage() throws InterruptedException {
    try (Topic topic = new Topic()) {
      Transport transport = topic.transport();
      Headers nested = Headers.none().with("map", Map.of("a", 1));
      List<Sent> sent =
          TestBroker.answers(
              transport,
              TestBroker.envelope("orders", "nested").headers(nested).build(),
              TestBroker.envelope("orders", "m-1").build());

      assertThat(((Sent.Failed) sent.get(0)).cause())
          .isInstanceOf(PoisonException.class) // it would not be carried the next time either
          .hasMessageStartingWith("PH-HDR-06");
      assertThat(sent.get(1)).isInstanceOf(Sent.Confirmed.class);
      assertThat(topic.received()).hasSize(1);
      transport.close();
    }
  }

  /** As after a lost right to log in, or an error that the client does not expect. */
  @Test
  void aClientThatWillNeverSendAgainIsReplaced() throws Exception {
    try (Topic topic = new Topic()) {
      Transport transport =
          KafkaTransport.topic(Map.of("bootstrap.servers", server.bootstrap()), topic.topic);
      assertThat(send(transport, "m-0")).isEqualTo(new Sent.Confirmed());
      Object client = field(KafkaTransport.class, "producer", transport);
      Object state = field(KafkaProducer.class, "transactionManager", client);
      Method fail =
          state.getClass().getDeclaredMethod("transitionToFatalError", RuntimeException.class);
      fail.setAccessible(true);
      fail.invoke(state, new SaslAuthenticationException("wrong password"));

      assertThat(send(transport, "m-1")).isEqualTo(new Sent.Confirmed());
      assertThat(send(transport, "m-2")).isEqualTo(new Sent.Confirmed());
      assertThat(topic.received()).extracting(Envelope::id).hasSize(3).doesNotHaveDuplicates();
      transport.close();
    }
  }

  private static Object field(Class<?> owner, String name, Object of)
      throws ReflectiveOperationException {
    Field field = owner.getDeclaredField(name);
    field.setAccessible(true);
    return field.get(of);
  }

  @Test
  void aRecordThatACompactedTopicDoesNotAcceptFailsForGoodAndTheOthersAreSent()
      throws InterruptedException {
    invalid(Map.of("cleanup.policy", "compact"), TestBroker.envelope("orders", "invalid").build());
  }

  @Test
  void aRecordThatIsTooOldForItsTopicFailsForGoodAndTheOthersAreSent() throws InterruptedException {
    invalid(
        Map.of("message.timestamp.before.max.ms", "60000"),
        TestBroker.envelope("orders", "invalid")
            .key("k-2")
            .sentAt(Instant.now().minus(Duration.ofDays(1)))
            .build());
  }

  /** All go to the brokers in one batch of the client. */
  private static void invalid(Map<String, String> settings, Envelope invalid)
      throws InterruptedException {
    String topic = "picky-" + UUID.randomUUID();
    server.createTopic(topic, 1, settings);
    Transport transport =
        KafkaTransport.topic(
            Map.of("bootstrap.servers", server.bootstrap(), "linger.ms", "500"), topic);
    List<Sent> sent =
        transport.send(
            List.of(
                TestBroker.envelope("orders", "first").key("k-1").build(),
                invalid,
                TestBroker.envelope("orders", "last").key("k-3").build()),
            LIMIT);
    transport.close();

    assertThat(((Sent.Failed) sent.get(1)).cause())
        .isInstanceOf(PoisonException.class)
        .hasMessageStartingWith("PH-MAP-01")
        .hasMessageContaining(topic);
    assertThat(List.of(sent.get(0), sent.get(2)))
        .containsExactly(new Sent.Confirmed(), new Sent.Confirmed());
  }

  @Override
  protected TornTarget target() {
    return new Topic();
  }

  private static final class Topic implements TornTarget {
    private final TestBroker broker = TestBroker.on(server);
    private final String topic = broker.topic(1);

    private static Transport to(String topic) {
      return KafkaTransport.topic(Map.of("bootstrap.servers", "127.0.0.1:" + proxy.port()), topic);
    }

    @Override
    public Transport transport() {
      return to(topic);
    }

    @Override
    public Transport toNowhere() {
      return to("nowhere");
    }

    @Override
    public List<Envelope> received() {
      RecordReader reader =
          new RecordReader(
              new KafkaSource.Choices(new ClientSettings(broker.config()), List.of(topic)),
              UnaryOperator.identity());
      return broker.read(topic).stream().map(reader::read).toList();
    }

    @Override
    public void stall() {
      proxy.blackhole(Direction.TO_CLIENT);
    }

    @Override
    public void resume() {
      proxy.heal();
    }

    @Override
    public OptionalInt tooLarge() {
      return OptionalInt.of(2_000_000);
    }

    @Override
    public void disconnect() {
      proxy.cut();
    }

    @Override
    public void close() {
      proxy.heal();
      broker.close();
    }
  }
}
