package dev.pigeonhole.examples.docs;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.classic.spi.ThrowableProxyUtil;
import ch.qos.logback.core.read.ListAppender;
import dev.pigeonhole.Acceptance;
import dev.pigeonhole.Channel;
import dev.pigeonhole.Guard;
import dev.pigeonhole.GuardBody;
import dev.pigeonhole.GuardKey;
import dev.pigeonhole.HandlerTransaction;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.KeptFailureException;
import dev.pigeonhole.Message;
import dev.pigeonhole.PoisonException;
import dev.pigeonhole.RetryPolicy;
import dev.pigeonhole.admin.InboxAdmin;
import dev.pigeonhole.cloudevents.CloudEventMapper;
import dev.pigeonhole.event.InboxEvent;
import dev.pigeonhole.http.HttpAnswer;
import dev.pigeonhole.http.HttpCall;
import dev.pigeonhole.jackson.JacksonCodec;
import dev.pigeonhole.jdbc.JdbcStore;
import dev.pigeonhole.jdbc.Schema;
import dev.pigeonhole.micrometer.InboxMetrics;
import dev.pigeonhole.micrometer.ProcessObservations;
import dev.pigeonhole.outbox.Outbox;
import dev.pigeonhole.outbox.Route;
import dev.pigeonhole.store.StoreException;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import dev.pigeonhole.transport.Envelope;
import dev.pigeonhole.transport.Sent;
import dev.pigeonhole.transport.Transport;
import dev.pigeonhole.webhook.Signature;
import dev.pigeonhole.webhook.Webhook;
import dev.pigeonhole.webhook.WebhookEndpoint;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationHandler;
import io.micrometer.observation.ObservationRegistry;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.lang.reflect.RecordComponent;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.time.Duration;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CopyOnWriteArrayList;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.slf4j.LoggerFactory;

/**
 * Content with a mark in it goes wrong in every way, on every database, and the mark is looked for
 * in everything that an application lets out: log, events, failures, audit, answers, meters, spans.
 */
class ContentCanaryTest {
  private static final String CANARY = "canary-4714";
  private static final String CANARY_IN_HEX = HexFormat.of().formatHex(CANARY.getBytes(UTF_8));

  /** In a header of the second message with a known id, which is kept with its own headers. */
  private static final String SECOND = "second partner";

  private static final String SECRET = "a secret of both sides";

  record Payment(String card, int cents) {}

  record Refund(String reference, String card) {}

  private final Logger logger = (Logger) LoggerFactory.getLogger("dev.pigeonhole");
  private final ListAppender<ILoggingEvent> log = new ListAppender<>();
  private final SimpleMeterRegistry meters = new SimpleMeterRegistry();
  private final ObservationRegistry observations = ObservationRegistry.create();

  /** What was let out, by where. */
  private final Map<String, List<String>> out = new TreeMap<>();

  @BeforeEach
  void listen() {
    logger.setLevel(Level.ALL);
    log.start();
    logger.addAppender(log);
    observations
        .observationConfig()
        .observationHandler(
            new ObservationHandler<>() {
              @Override
              public void onStop(Observation.Context context) {
                let("span", context.getName() + context.getAllKeyValues());
              }

              @Override
              public boolean supportsContext(Observation.Context context) {
                return true;
              }
            });
  }

  @AfterEach
  void stopListening() {
    logger.detachAppender(log);
    logger.setLevel(null);
  }

  private void let(String where, String what) {
    out.computeIfAbsent(where, key -> new CopyOnWriteArrayList<>()).add(what);
  }

  private static String told(Throwable thrown) {
    StringWriter text = new StringWriter();
    thrown.printStackTrace(new PrintWriter(text));
    return text.toString();
  }

  /** An event with everything in it, causes included. */
  private void event(InboxEvent event) {
    StringBuilder text = new StringBuilder(event.toString());
    for (RecordComponent each : event.getClass().getRecordComponents()) {
      try {
        if (each.getAccessor().invoke(event) instanceof Throwable cause) {
          text.append(told(cause));
        }
      } catch (ReflectiveOperationException e) {
        throw new IllegalStateException(e);
      }
    }
    let("event", text.toString());
  }

  private static Channel channel() {
    return Channel.named("payments")
        .on(Payment.class)
        .named("payment")
        .handle(
            "mail",
            payment -> {
              throw payment.cents() == 1
                  ? new PoisonException("one cent is no payment")
                  : new IllegalStateException("no mail server");
            })
        .handleInTransaction("book", ContentCanaryTest::book)
        .on(Refund.class)
        .named("refund")
        .keyedBy(Refund::reference)
        .handle("refund", refund -> {})
        .build();
  }

  /** The table wants a reason, and PostgreSQL shows the whole row that has none. */
  private static void book(Payment payment, HandlerTransaction<Payment> tx) throws SQLException {
    insert(payment, tx.connection());
  }

  private static Message encoded(String id, String json) {
    return Message.encoded(id, "payment", json.getBytes(UTF_8), "application/json");
  }

  private static String json(int cents) {
    return "{\"card\":\"%s\",\"cents\":%d}".formatted(CANARY, cents);
  }

  private static HttpCall signed(String id, String body) throws Exception {
    Mac mac = Mac.getInstance("HmacSHA256");
    mac.init(new SecretKeySpec(SECRET.getBytes(UTF_8), "HmacSHA256"));
    String proof = HexFormat.of().formatHex(mac.doFinal(body.getBytes(UTF_8)));
    return new HttpCall(
        "POST",
        "/hooks/payments",
        Map.of(
            "Content-Type",
            List.of("application/json"),
            "X-Signature",
            List.of(proof),
            "X-Id",
            List.of(id)),
        body.getBytes(UTF_8));
  }

  private static String table(TestDatabase database, String name) {
    String table = "pigeonhole_" + name;
    return switch (database.kind()) {
      case POSTGRES -> table;
      case MARIADB -> "`" + table + "`";
      case H2 -> "\"" + table + "\"";
    };
  }

  private int answer(WebhookEndpoint endpoint, HttpCall call) {
    HttpAnswer answer = endpoint.answer(call);
    let("answer", answer.status() + " " + answer + new String(answer.body(), UTF_8));
    return answer.status();
  }

  private void refused(Runnable accept) {
    assertThatExceptionOfType(StoreException.class)
        .isThrownBy(accept::run)
        .satisfies(e -> let("exception", told(e)));
  }

  /** Sources write the code and the reason into the headers of dead letters. */
  private void rejected(Acceptance answer) {
    assertThat(answer)
        .isInstanceOfSatisfying(
            Acceptance.Rejected.class,
            rejected -> let("reason", rejected.code().text() + " " + rejected.reason()));
  }

  private static Message refund(String json) {
    return Message.encoded("refund", "refund", json.getBytes(UTF_8), "application/json");
  }

  private void collect(TestDatabase database) {
    collect(database, "");
    database
        .rows("SELECT headers FROM " + table(database, "conflict"))
        .forEach(row -> let("headers of conflicts", text(row)));
    assertThat(out.get("headers of conflicts")).isNotEmpty().allMatch(it -> it.contains(SECOND));
  }

  /**
   * @param tables how the names of the tables go on behind the usual prefix
   */
  private void collect(TestDatabase database, String tables) {
    for (ILoggingEvent event : List.copyOf(log.list)) {
      let(
          "log",
          event.getFormattedMessage()
              + event.getKeyValuePairs()
              + event.getMDCPropertyMap()
              + (event.getThrowableProxy() == null
                  ? ""
                  : ThrowableProxyUtil.asString(event.getThrowableProxy())));
    }
    meters.getMeters().forEach(meter -> let("meter", meter.getId().toString()));
    for (String each : List.of("failure", "poison", "audit")) {
      database
          .rows("SELECT * FROM " + table(database, tables + each))
          .forEach(row -> let(each, text(row)));
    }
  }

  /** A row with what its bytes say. */
  private static String text(Map<String, @Nullable Object> row) {
    StringBuilder text = new StringBuilder();
    row.forEach(
        (column, value) ->
            text.append(column)
                .append('=')
                .append(value instanceof byte[] bytes ? new String(bytes, UTF_8) : value)
                .append(' '));
    return text.toString();
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#all")
  void errorsAndLogsContainNoContent(TestDatabase database) throws Exception {
    Schema.migrate(database.dataSource());
    database.execute("CREATE TABLE booking (card varchar(100), reason varchar(10) NOT NULL)");
    InboxMetrics metrics = InboxMetrics.to(meters);
    Inbox inbox =
        Inbox.on(JdbcStore.of(database.pool(20)))
            .codec(JacksonCodec.create())
            .maxPayload(1_000)
            .retry(RetryPolicy.fixed(Duration.ofMillis(1)).maxAttempts(2))
            .listener(metrics)
            .listener(this::event)
            .around(ProcessObservations.in(observations))
            .channel(channel())
            .build();
    metrics.watch(inbox);
    WebhookEndpoint endpoint =
        Webhook.at("/hooks/payments")
            .verifiedBy(Signature.hmac("X-Signature", SECRET).idFrom("X-Id"))
            .source("partner")
            .type("payment")
            .into(inbox, "payments");

    inbox.accept("payments", Message.of("fails", new Payment(CANARY, 2)));
    inbox.accept("payments", Message.of("poisons", new Payment(CANARY, 1)));
    inbox.accept("payments", encoded("broken", json(3).replace("}", "")));
    inbox.accept("payments", encoded("other-type", json(4).replace("4", "\"" + CANARY + "\"")));
    inbox.accept("payments", encoded("not-text", json(5).replace("c", "\u0000")));
    Message other = Message.of("fails", new Payment(CANARY + "!", 2)).header("via", SECOND);
    assertThat(inbox.accept("payments", other))
        .isInstanceOfSatisfying(
            Acceptance.Conflict.class, conflict -> let("answer", conflict.toString()));
    rejected(inbox.accept("payments", Message.of("huge", new Payment(CANARY.repeat(100), 2))));
    rejected(inbox.accept("payments", refund("{\"reference\":\"r-1\",\"card\":\"" + CANARY)));
    rejected(inbox.accept("payments", refund("{\"card\":\"" + CANARY + "\"}")));
    rejected(inbox.accept("payments", refund("{\"reference\":[\"" + CANARY + "\"]}")));
    assertThat(answer(endpoint, signed("webhook", json(6)))).isEqualTo(202);
    assertThat(answer(endpoint, signed("webhook-huge", json(6).repeat(100)))).isEqualTo(413);
    for (int i = 0; i < 10; i++) {
      inbox.drain();
      inbox.admin().overview(100);
    }

    inbox.admin().as("ada").retry("payments", "poisons", "mail", "once more");

    // The tables are changed: the database refuses rows, and PostgreSQL shows them.
    change(database, "message", "id <> 'refused'");
    refused(() -> inbox.accept("payments", Message.of("refused", new Payment(CANARY, 2))));
    assertThat(answer(endpoint, signed("refused", json(7)))).as("not 4xx").isEqualTo(503);
    Payment longer = new Payment(CANARY + " and more", 2);
    int length = JacksonCodec.create().encode(longer).length;
    change(database, "conflict", "octet_length(content) < " + length);
    refused(() -> inbox.accept("payments", Message.of("fails", longer)));

    collect(database);
    assertThat(out.keySet())
        .as("each of them was looked into")
        .containsExactly(
            "answer",
            "audit",
            "event",
            "exception",
            "failure",
            "headers of conflicts",
            "log",
            "meter",
            "poison",
            "reason",
            "span");
    assertThat(out.get("log"))
        .anyMatch(line -> line.contains("no mail server"))
        .anyMatch(line -> line.contains("one cent is no payment"))
        .anyMatch(line -> line.contains("PH-PAY-"))
        .anyMatch(line -> line.contains("PH-ID-08") && line.contains("Conflict"))
        .anyMatch(line -> line.contains("could not accept") && line.contains("PH-DB-17"))
        .anyMatch(line -> line.contains("'book'") && line.contains("SQL"));
    assertThat(out.get("exception")).allMatch(text -> text.contains("PH-DB-17"));
    findNoContent();
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#all")
  void guardsInlineHandlersAndViewsContainNoContent(TestDatabase database) {
    Schema.migrate(database.dataSource());
    database.execute("CREATE TABLE booking (card varchar(100), reason varchar(10) NOT NULL)");
    JdbcStore store = JdbcStore.of(database.pool(20));
    Guard guard =
        Guard.on(store)
            .codec(JacksonCodec.create())
            .listener(this::event)
            .keepFailures(IllegalStateException.class)
            .build();
    Payment payment = new Payment(CANARY, 2);
    GuardKey books = GuardKey.of("book", "payment", "k-1").request(payment);
    assertThatExceptionOfType(SQLException.class)
        .isThrownBy(() -> guard.run(books, tx -> insert(payment, tx.connection())));
    GuardKey fails = GuardKey.of("mail", "payment", "k-2").request(payment);
    GuardBody<Payment, RuntimeException> noServer =
        tx -> {
          throw new IllegalStateException("no mail server");
        };
    assertThatExceptionOfType(IllegalStateException.class)
        .isThrownBy(() -> guard.answer(fails, Payment.class, noServer));
    assertThatExceptionOfType(KeptFailureException.class)
        .isThrownBy(() -> guard.answer(fails, Payment.class, noServer))
        .satisfies(e -> let("exception", told(e)));
    GuardKey answers = GuardKey.of("answer", "payment", "k-3").request(payment);
    guard.answer(answers, Payment.class, tx -> payment);
    let("key", answers.toString());
    let("key", guard.run(answers.request(new Payment(CANARY, 3)), tx -> 1).toString());

    Inbox inbox =
        Inbox.on(store)
            .codec(JacksonCodec.create())
            .listener(this::event)
            .channel(
                Channel.named("cards")
                    .inline()
                    .on(Payment.class)
                    .named("card")
                    .handleInTransaction("book-now", ContentCanaryTest::book)
                    .build())
            .channel(channel())
            .build();
    Acceptance unfinished = inbox.accept("cards", Message.of("inline", payment));
    assertThat(unfinished).isInstanceOf(Acceptance.Unfinished.class);
    let("answer", unfinished.toString());

    Message poison =
        Message.of("poisons", new Payment(CANARY, 1)).header("card", CANARY + " in a header");
    let("view", poison.toString());
    inbox.accept("payments", poison);
    inbox.accept(
        "payments", Message.of("poisons", new Payment(CANARY + "!", 1)).header("via", SECOND));
    inbox.drain();
    InboxAdmin admin = inbox.admin();
    admin.as("ada").editAndRetry("payments", "poisons", "mail", json(1).getBytes(UTF_8), "typo");
    inbox.drain();
    let("view", admin.message("payments", "poisons").orElseThrow().toString());
    let("view", admin.poisoned(10).toString());
    assertThat(admin.conflicts(10)).isNotEmpty();
    let("view", admin.conflicts(10).toString());
    long conflict = admin.conflicts(10).get(0).conflict();
    let("view", admin.conflict(conflict).orElseThrow().toString());

    collect(database);
    assertThat(out.keySet())
        .as("each of them was looked into")
        .containsExactly(
            "answer",
            "audit",
            "event",
            "exception",
            "failure",
            "headers of conflicts",
            "key",
            "log",
            "poison",
            "view");
    assertThat(out.get("event"))
        .anyMatch(text -> text.startsWith("GuardFailed") && text.contains("book"))
        .anyMatch(text -> text.startsWith("GuardFailed") && text.contains("book-now"));
    findNoContent();
  }

  /** On PostgreSQL alone, which shows the row that it rejects. */
  @Test
  void outboxesAndTheirRelaysContainNoContent() throws SQLException {
    try (TestDatabase database = TestDatabases.open(DatabaseKind.POSTGRES)) {
      Schema.ofDefaults().prefix("pigeonhole_out_").applyTo(database.dataSource());
      Outbox outbox =
          Outbox.on(JdbcStore.of(database.pool(20)))
              .codec(JacksonCodec.create())
              .maxPayload(1_000)
              .maxBatch(1)
              .retry(RetryPolicy.fixed(Duration.ofMillis(1)).maxAttempts(2))
              .listener(this::event)
              .route(Route.of(Payment.class).named("payment"), new Partner())
              .route(
                  Route.of(Refund.class).named("refund").mappedBy(CloudEventMapper.create()),
                  new Partner())
              .build();
      Payment payment = new Payment(CANARY, 2);
      for (String id : List.of("fails", "unroutable", "breaks", "unanswered")) {
        publish(database, outbox, Message.of(id, payment));
      }
      Message unwritable = Message.of("unwritable", new Refund("r-1", CANARY));
      publish(database, outbox, unwritable.header("ce-no name of an attribute", "x"));
      unpublished(database, outbox, Message.of("fails", new Payment(CANARY + "!", 2)));
      unpublished(database, outbox, Message.of("huge", new Payment(CANARY.repeat(100), 2)));
      unpublished(database, outbox, Message.of("no-route", CANARY));
      for (int i = 0; i < 10; i++) {
        outbox.drain();
        outbox.admin().overview(100);
      }
      InboxAdmin admin = outbox.admin();
      admin.as("ada").retry("outbox", "unroutable", "payment", "bound");
      outbox.drain();
      let("view", admin.poisoned(10).toString());
      let("view", admin.message("outbox", "fails").orElseThrow().toString());

      // The tables are changed: the database rejects rows, and shows them.
      change(database, "out_message", "id <> 'rejected'");
      unpublished(database, outbox, Message.of("rejected", payment));
      publish(database, outbox, Message.of("sent", payment));
      change(database, "out_receipt", "seq < 0");
      refused(outbox::drain);

      collect(database, "out_");
    }
    assertThat(out.keySet())
        .as("each of them was looked into")
        .containsExactly("audit", "event", "exception", "failure", "log", "poison", "view");
    assertThat(out.get("exception"))
        .anyMatch(text -> text.contains("PH-ID-08"))
        .anyMatch(text -> text.contains("PH-PAY-02"))
        .anyMatch(text -> text.contains("PH-OBX-01"))
        .anyMatch(text -> text.contains("PH-DB-17"));
    for (String where : List.of("event", "failure", "log")) {
      assertThat(out.get(where))
          .as(where)
          .anyMatch(text -> text.contains("the broker is down"))
          .anyMatch(text -> text.contains("the connection is gone"))
          .anyMatch(text -> text.contains("answered for"))
          .anyMatch(text -> text.contains("PH-OBX-03"))
          .anyMatch(text -> text.contains("PH-MAP-01") && text.contains("PH-CE-07"));
    }
    findNoContent();
  }

  /** Fails in the way that the id of a message says. */
  private static final class Partner implements Transport {
    @Override
    public String kind() {
      return "partner";
    }

    @Override
    public String destination() {
      return "payments";
    }

    @Override
    public List<Sent> send(List<Envelope> envelopes, Duration timeout) {
      String id = envelopes.get(0).id().orElseThrow();
      if (id.equals("breaks")) {
        throw new IllegalStateException("the connection is gone");
      }
      return switch (id) {
        case "fails" -> List.of(new Sent.Failed(new IllegalStateException("the broker is down")));
        case "unanswered" -> List.of();
        case "sent" -> List.of(new Sent.Confirmed());
        default -> List.of(new Sent.Unroutable("No queue is bound."));
      };
    }

    @Override
    public void close() {}
  }

  private static void publish(TestDatabase database, Outbox outbox, Message message)
      throws SQLException {
    try (Connection connection = database.dataSource().getConnection()) {
      connection.setAutoCommit(false);
      outbox.publish(connection, message);
      connection.commit();
    }
  }

  private void unpublished(TestDatabase database, Outbox outbox, Message message) {
    assertThatExceptionOfType(InboxException.class)
        .isThrownBy(() -> publish(database, outbox, message))
        .satisfies(e -> let("exception", told(e)));
  }

  private static Object insert(Payment payment, Connection connection) throws SQLException {
    try (PreparedStatement insert =
        connection.prepareStatement("INSERT INTO booking (card) VALUES (?)")) {
      insert.setString(1, payment.card());
      return insert.executeUpdate();
    }
  }

  private void findNoContent() {
    out.forEach(
        (where, texts) ->
            assertThat(texts)
                .as(where)
                .noneMatch(text -> text.contains(CANARY) || text.contains(CANARY_IN_HEX))
                .noneMatch(text -> text.contains("Failing row")));
  }

  private static void change(TestDatabase database, String table, String check) {
    database.execute(
        "ALTER TABLE %s ADD CONSTRAINT changed_%s CHECK (%s)"
            .formatted(table(database, table), table, check));
  }
}
