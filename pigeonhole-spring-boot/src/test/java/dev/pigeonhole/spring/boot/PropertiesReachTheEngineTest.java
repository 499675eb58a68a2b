package dev.pigeonhole.spring.boot;

import static java.util.Map.entry;
import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.Channel;
import dev.pigeonhole.Guard;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.Message;
import dev.pigeonhole.jdbc.JdbcStore;
import dev.pigeonhole.lease.GuardStore;
import dev.pigeonhole.lease.LeaseGuard;
import dev.pigeonhole.outbox.Outbox;
import dev.pigeonhole.spring.InboxHandler;
import dev.pigeonhole.spring.boot.AutoConfigurationTest.Order;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.micrometer.observation.ObservationRegistry;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.UUID;
import java.util.function.Consumer;
import javax.sql.DataSource;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.springframework.boot.amqp.autoconfigure.RabbitAutoConfiguration;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.data.redis.autoconfigure.DataRedisAutoConfiguration;
import org.springframework.boot.kafka.autoconfigure.KafkaAutoConfiguration;
import org.springframework.boot.test.context.assertj.AssertableApplicationContext;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.LifecycleProcessor;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.support.DefaultLifecycleProcessor;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.DriverManagerDataSource;

/** No property is lost, or taken for another, on its way from a file to what it speaks of. */
class PropertiesReachTheEngineTest {
  private static final String LETTERS = "inbox.channels.0";
  private static final String ORDERS = "inbox.channels.1";
  private static final String PARCELS = "inbox.channels.2";
  private static final String OPTIONS = ".types.0.handlers.0.options";
  private static final String SEE = ORDERS + OPTIONS;
  private static final String QUEUE = "inbox.feeds.0.source.choices";
  private static final String TOPIC = "inbox.feeds.1.source.choices";
  private static final String SENDING = "outbox.channels.0.types.0.handlers.0";

  /**
   * A property, a value that is not its default, and where it has to arrive as what. Values of one
   * type are different wherever they could be taken for each other.
   */
  record Row(String property, String value, Map<String, String> arrives) {

    String key() {
      return property.replaceFirst("^(pigeonhole\\.(?:handlers|channels))\\.[a-z]+\\.", "$1.*.");
    }

    /** Of two that can only be true or false, nobody sees which is which: so one at a time. */
    boolean alone() {
      return value.equals("true") || value.equals("false");
    }

    @Override
    public String toString() {
      return property;
    }
  }

  private static Row row(String property, String value, String... arrives) {
    Map<String, String> places = new TreeMap<>();
    for (int i = 0; i < arrives.length; i += 2) {
      places.put(arrives[i], arrives[i + 1]);
    }
    return new Row("pigeonhole." + property, value, places);
  }

  private static final List<Row> ROWS =
      List.of(
          row("inbox.name", "shop", "inbox.name", "shop", "guard.name", "shop"),
          row("inbox.background-processing", "false", "inbox.starts", "false"),
          row("inbox.retry.max-attempts", "11", "inbox.retry.limits.maxAttempts", "11"),
          row("inbox.retry.max-uncounted", "21", "inbox.retry.limits.maxUncounted", "21"),
          row("inbox.retry.initial-delay", "3s", "inbox.retry.base", "PT3S"),
          row("inbox.retry.max-delay", "7m", "inbox.retry.cap", "PT7M"),
          row(
              "inbox.retry.jitter",
              "false",
              "inbox.retry.jitter",
              "false",
              SEE + ".retry.jitter",
              "false"),
          row("inbox.polling.min", "50ms", "inbox.pollMin", "PT0.05S"),
          row("inbox.polling.max", "4s", "inbox.pollMax", "PT4S"),
          row("inbox.batch-size", "77", "inbox.batchSize", "77"),
          row("inbox.lanes", "16", "inbox.lanes", "16", "guard.lanes", "16"),
          row("inbox.beat", "1s", "inbox.beat", "PT1S"),
          row("inbox.dead-after", "9s", "inbox.deadAfter", "PT9S"),
          row("inbox.restart-delay", "6s", "inbox.restartDelay", "PT6S"),
          row("inbox.stop-grace", "33s", "inbox.stopGrace", "PT33S"),
          row("inbox.concurrency", "3", "inbox.concurrency", "3"),
          row(
              "inbox.handler-timeout",
              "44s",
              LETTERS + OPTIONS + ".timeout",
              "PT44S",
              PARCELS + OPTIONS + ".timeout",
              "PT44S"),
          row("inbox.max-payload-size", "2KB", "inbox.maxPayload", "2048"),
          row("inbox.unknown-key-grace", "11m", "inbox.holdUnknownKeys", "PT11M"),
          row("inbox.max-crashes", "4", "inbox.maxCrashes", "4"),
          row("inbox.max-backlog", "60000", "inbox.maxBacklog", "60000"),
          row("inbox.max-handler-backlog", "12000", "inbox.maxHandlerBacklog", "12000"),
          row(
              "inbox.missing-id",
              "hash-content",
              LETTERS + ".onMissingId",
              "HASH_CONTENT",
              PARCELS + ".onMissingId",
              "HASH_CONTENT"),
          row(
              "inbox.on-conflict",
              "reject",
              LETTERS + ".onConflict",
              "REJECT",
              PARCELS + ".onConflict",
              "REJECT"),
          row(
              "inbox.unhandled",
              "reject",
              LETTERS + ".unhandled",
              "REJECT",
              PARCELS + ".unhandled",
              "REJECT"),
          row("inbox.retention.keep-receipts", "400d", "inbox.keep.receipts", "PT9600H"),
          row("inbox.retention.keep-payload", "40d", "inbox.keep.payload", "PT960H"),
          row("inbox.retention.keep-poisoned", "50d", "inbox.keep.poisoned", "PT1200H"),
          row(
              "jdbc.database-schema",
              "SHOP",
              "inbox.tables.schema",
              "SHOP",
              "outbox.tables.schema",
              "SHOP"),
          row(
              "jdbc.table-prefix",
              "own_",
              "inbox.tables.prefix",
              "own_",
              "outbox.tables.prefix",
              "own_out_"),
          row("guard.keep-receipts", "8d", "guard.keepReceipts", "PT192H"),
          row("guard.wait", "6s", "guard.waitAtMost", "PT6S"),
          row("guard.transaction-timeout", "31s", "guard.timeLimit", "PT31S"),
          row("guard.keep-answers", "2d", "guard.keepAnswers", "PT48H"),
          row("guard.max-answer-size", "3KB", "guard.maxAnswer", "3072"),
          row("lease-guard.lease", "32s", "lease.lease", "PT32S"),
          row("lease-guard.wait", "7s", "lease.waitAtMost", "PT7S"),
          row("lease-guard.keep-receipts", "9d", "lease.keepReceipts", "PT216H"),
          row("lease-guard.max-answer-size", "5KB", "lease.maxAnswer", "5120"),
          row("lease-guard.key-prefix", "shop:", "lease.store.prefix", "shop:"),
          row("outbox.name", "mail", "outbox.name", "mail", "outbox.channels.0.name", "mail"),
          row("outbox.background-processing", "false", "outbox.starts", "false"),
          row(
              "outbox.send-timeout",
              "20s",
              SENDING + ".batch.handler.timeout",
              "PT20S",
              SENDING + ".options.timeout",
              "PT30S"),
          row("outbox.max-message-size", "7KB", "outbox.maxPayload", "7168"),
          row("outbox.retry.max-attempts", "13", "outbox.retry.limits.maxAttempts", "13"),
          row("outbox.retry.initial-delay", "8s", "outbox.retry.base", "PT8S"),
          row("outbox.retry.max-delay", "9m", "outbox.retry.cap", "PT9M"),
          row("outbox.retry.jitter", "false", "outbox.retry.jitter", "false"),
          row("outbox.keep", "3d", "outbox.keep.receipts", "PT72H"),
          row(
              "observations.open-telemetry-names",
              "true",
              "inbox.interceptors.0.convention",
              "Processing",
              "outbox.interceptors.0.convention",
              "Relaying",
              SENDING + ".batch.handler.onSending.convention",
              "Relaying"),
          row("observations.in-trace-of-message", "true", "inbox.interceptors.0.linked", "false"),
          row("handlers.see.retry.max-attempts", "12", SEE + ".retry.limits.maxAttempts", "12"),
          row("handlers.see.retry.max-uncounted", "22", SEE + ".retry.limits.maxUncounted", "22"),
          row("handlers.see.retry.initial-delay", "5s", SEE + ".retry.base", "PT5S"),
          row("handlers.see.retry.max-delay", "6m", SEE + ".retry.cap", "PT6M"),
          row("handlers.see.retry.jitter", "false", SEE + ".retry.jitter", "false"),
          row("handlers.see.timeout", "45s", SEE + ".timeout", "PT45S"),
          row("handlers.see.concurrency", "2", SEE + ".atMost", "2"),
          row("handlers.see.rate", "2.5", SEE + ".perSecond", "2.5"),
          row("channels.letters.mode", "inline", LETTERS + OPTIONS + ".inline", "true"),
          row(
              "channels.orders.missing-id",
              "accept-every-copy",
              ORDERS + ".onMissingId",
              "ACCEPT_EVERY_COPY"),
          row("channels.orders.on-conflict", "repeat", ORDERS + ".onConflict", "REPEAT"),
          row("channels.orders.unhandled", "ignore", ORDERS + ".unhandled", "IGNORE"),
          row(
              "channels.orders.destination",
              "placed",
              QUEUE + ".queue",
              "placed",
              QUEUE + ".deadLetterKey",
              "placed"),
          row("channels.orders.refused", "dead", QUEUE + ".deadLetters", "dead"),
          row("channels.orders.concurrency", "5", QUEUE + ".consumers", "5"),
          row("channels.parcels.destination", "sent", TOPIC + ".topics.0", "sent"),
          row("channels.parcels.group", "ours", TOPIC + ".settings.given.group.id", "ours"),
          row("channels.parcels.refused", "parked", TOPIC + ".parkingTopic", "parked"));

  /** Properties that change which beans there are, and the tests that see it. */
  private static final Map<String, Class<?>> ELSEWHERE =
      Map.ofEntries(
          entry("pigeonhole.inbox.enabled", AutoConfigurationTest.class),
          entry("pigeonhole.inbox.threads", AutoConfigurationTest.class),
          entry("pigeonhole.inbox.sources", BrokerSourcesTest.class),
          entry("pigeonhole.jdbc.initialize-schema", FailureTest.class),
          entry("pigeonhole.lease-guard.enabled", LeaseGuardTest.class),
          entry("pigeonhole.outbox.enabled", AutoConfigurationTest.class),
          entry("pigeonhole.channels.*.transport", BrokerSourcesTest.class),
          entry("pigeonhole.inboxes.*.data-source", SeveralInboxesTest.class),
          entry("pigeonhole.inboxes.*.transaction-manager", SeveralInboxesTest.class),
          entry("pigeonhole.inboxes.*.channels", SeveralInboxesTest.class));

  @Test
  void everyPropertyIsTested() throws IOException {
    TreeSet<String> tested = new TreeSet<>(ELSEWHERE.keySet());
    ROWS.forEach(each -> tested.add(each.key()));
    tested.add("pigeonhole.inbox.notify");
    inheriting().keySet().forEach(each -> tested.add("pigeonhole.inboxes.*." + each));
    assertThat(tested).isEqualTo(new TreeSet<>(KnownProperties.names()));
    for (Map.Entry<String, Class<?>> each : ELSEWHERE.entrySet()) {
      String source =
          Files.readString(
              Path.of("src/test/java", each.getValue().getName().replace('.', '/') + ".java"));
      assertThat(source).containsPattern(each.getKey().replace("*", "[a-z-]+") + "=");
    }
  }

  @Test
  void allTogetherEachArrivesInItsPlaceAndChangesNothingElse() {
    Map<String, String> expected = new TreeMap<>();
    List<String> properties = new ArrayList<>();
    for (Row each : ROWS) {
      if (!each.alone()) {
        expected.putAll(each.arrives());
        properties.add(each.property() + "=" + each.value());
      }
    }
    assertThat(changes(properties.toArray(String[]::new))).isEqualTo(expected);
  }

  static List<Row> switches() {
    return ROWS.stream().filter(Row::alone).toList();
  }

  @ParameterizedTest
  @MethodSource("switches")
  void aSwitchChangesWhatItSpeaksOfAlone(Row each) {
    assertThat(changes(each.property() + "=" + each.value())).isEqualTo(each.arrives());
  }

  private static Map<String, String> before = Map.of();

  @BeforeAll
  static void whatIsToldWithoutThem() {
    inContext(context -> before = ToldSettings.of(context));
  }

  private static Map<String, String> changes(String... properties) {
    Map<String, String> changes = new TreeMap<>();
    inContext(context -> changes.putAll(ToldSettings.of(context)), properties);
    TreeSet<String> gone = new TreeSet<>(before.keySet());
    gone.removeAll(changes.keySet());
    changes.entrySet().removeAll(before.entrySet());
    gone.forEach(each -> changes.put(each, "gone"));
    return changes;
  }

  private static void inContext(Consumer<AssertableApplicationContext> look, String... properties) {
    application()
        .withPropertyValues(properties)
        .run(
            context -> {
              assertThat(context).hasNotFailed();
              look.accept(context);
            });
  }

  /** One that has everything, and of which nothing runs. */
  private static ApplicationContextRunner application() {
    return AutoConfigurationTest.runner()
        .withConfiguration(
            AutoConfigurations.of(
                RabbitAutoConfiguration.class,
                KafkaAutoConfiguration.class,
                DataRedisAutoConfiguration.class,
                PigeonholeLeaseGuardAutoConfiguration.class))
        .withUserConfiguration(Handlers.class, AutoConfigurationTest.Publishing.class)
        .withBean(SimpleMeterRegistry.class)
        .withBean(ObservationRegistry.class, ObservationRegistry::create)
        .withBean("lifecycleProcessor", LifecycleProcessor.class, NothingStarts::new)
        .withPropertyValues(
            "spring.datasource.url=jdbc:h2:mem:%s;DB_CLOSE_DELAY=-1;INIT=CREATE SCHEMA IF NOT EXISTS SHOP"
                .formatted(UUID.randomUUID()),
            "spring.kafka.consumer.group-id=theirs",
            "pigeonhole.inbox.background-processing=true",
            "pigeonhole.outbox.enabled=true",
            "pigeonhole.lease-guard.enabled=true",
            "pigeonhole.channels.orders.transport=rabbitmq",
            "pigeonhole.channels.parcels.transport=kafka",
            // Without one of its own it has no policy to compare with.
            "pigeonhole.handlers.see.retry.max-attempts=6");
  }

  private static final class NothingStarts extends DefaultLifecycleProcessor {
    @Override
    public void onRefresh() {}
  }

  @Configuration(proxyBeanMethods = false)
  static class Handlers {
    @InboxHandler(channel = "orders", key = "see")
    void see(Order order) {}

    @InboxHandler(channel = "parcels", key = "pack")
    void pack(Order order) {}

    @InboxHandler(channel = "letters", key = "read")
    void read(Order order) {}
  }

  /** What stands below an inbox with a name: what can be said of all, and of the tables. */
  private static Map<String, Row> inheriting() {
    Map<String, Row> rows = new LinkedHashMap<>();
    for (Row each : ROWS) {
      for (String of : List.of("pigeonhole.inbox.", "pigeonhole.jdbc.")) {
        if (each.property().startsWith(of) && !each.property().equals("pigeonhole.inbox.name")) {
          rows.put(each.property().substring(of.length()), each);
        }
      }
    }
    rows.put("notify", row("inbox.notify", "true"));
    return rows;
  }

  @Test
  void anInboxWithANameIsToldTheSameByAllAsByItself() {
    PlannedInbox plain = planned(Map.of());
    inheriting()
        .forEach(
            (name, row) -> {
              PlannedInbox only = only(Map.of(row.property(), row.value()));
              PlannedInbox own = planned(Map.of("pigeonhole.inboxes.shop." + name, row.value()));
              PlannedInbox inherited = planned(Map.of(row.property(), row.value()));
              assertThat(own).as("own " + name).isNotEqualTo(plain).isEqualTo(inherited);
              assertThat(own.tables()).as("tables: " + name).isEqualTo(only.tables());
              assertThat(own.options())
                  .as(name)
                  .usingRecursiveComparison()
                  .ignoringFields("name")
                  .isEqualTo(only.options());
            });
  }

  private static PlannedInbox only(Map<String, String> properties) {
    return PropertiesTest.bind(properties).planned().get(0);
  }

  private static PlannedInbox planned(Map<String, String> properties) {
    Map<String, String> all = new TreeMap<>(properties);
    all.put("pigeonhole.inboxes.shop.channels", "orders");
    return only(all);
  }

  /** PostgreSQL alone can do it, so no application on H2 starts with it. */
  @Test
  void nodesWakeEachOtherWhereTheyAreToldTo() {
    DataSource source = new DriverManagerDataSource("jdbc:h2:mem:nobody");
    assertThat(only(Map.of("pigeonhole.inbox.notify", "true")).store(source))
        .hasFieldOrPropertyWithValue("notifying", true);
    assertThat(only(Map.of()).store(source)).hasFieldOrPropertyWithValue("notifying", false);
  }

  @Test
  void tablesAreWhereTheyAreSaidToBe() {
    inContext(
        context -> {
          Inbox inbox = context.getBean(Inbox.class);
          inbox.accept("letters", Message.of("m-1", new Order("o-1")));
          JdbcTemplate jdbc = new JdbcTemplate(context.getBean(DataSource.class));
          assertThat(jdbc.queryForList("SELECT id FROM SHOP.\"own_message\"", String.class))
              .containsExactly("m-1");
          assertThat(
                  jdbc.queryForList(
                      "SELECT DISTINCT table_schema FROM information_schema.tables"
                          + " WHERE table_name LIKE 'own\\_%'",
                      String.class))
              .containsExactly("SHOP");
        },
        "pigeonhole.jdbc.database-schema=SHOP",
        "pigeonhole.jdbc.table-prefix=own_");
  }

  /** Whoever moves to Spring Boot and says nothing gets what he had, with two exceptions. */
  @Test
  void defaultsAreThoseOfTheEngine() {
    inContext(
        context -> {
          JdbcStore store = context.getBean(JdbcStore.class);
          Map<String, String> engine = new TreeMap<>();
          Channel channel = Channel.named("orders").on(Order.class).handle("see", x -> {}).build();
          engine.putAll(ToldSettings.ofEngine("inbox", Inbox.on(store).channel(channel).build()));
          Outbox outbox = Outbox.on(store).route(Order.class, new Nowhere()).build();
          engine.putAll(ToldSettings.ofEngine("outbox", ToldSettings.field(outbox, "engine")));
          try (Guard guard = Guard.on(store).build()) {
            engine.putAll(ToldSettings.ofGuard("guard", guard));
          }
          engine.putAll(
              ToldSettings.ofLeaseGuard("lease", LeaseGuard.on(context.getBean(GuardStore.class))));

          Map<String, String> told = ToldSettings.of(context);
          Map<String, String> different = new TreeMap<>();
          ROWS.stream()
              .flatMap(each -> each.arrives().keySet().stream())
              .filter(engine::containsKey)
              .forEach(each -> different.put(each, engine.get(each) + " → " + told.get(each)));
          different.keySet().removeIf(each -> engine.get(each).equals(told.get(each)));
          assertThat(different)
              .containsOnly(
                  // Nobody asks for what has gone out, and it would only grow.
                  entry("outbox.keep.receipts", "null → PT168H"));
        });
  }
}
