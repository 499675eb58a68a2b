package dev.pigeonhole.spring.boot;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.Acceptance;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.Message;
import dev.pigeonhole.PoisonException;
import dev.pigeonhole.spring.InboxHandler;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Set;
import java.util.TimeZone;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.annotation.Configuration;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** What an application tells of its messages: how many there are, and nothing that is in them. */
@ExtendWith(OutputCaptureExtension.class)
class DisclosureTest {
  private static final String CONTENT = "canary-in-content";
  private static final String HEADER = "canary-in-header";
  private static final String THROWN = "canary-in-exception";
  private static final String ID = "canary-id-";

  private final TestDatabase database = TestDatabases.open(DatabaseKind.POSTGRES);
  private WebApp app;

  record Order(String id, boolean bad) {}

  @BeforeEach
  void start() {
    app =
        WebApp.run(
            database,
            Handling.class,
            "logging.level.dev.pigeonhole=TRACE",
            "management.endpoint.health.show-details=always",
            "management.info.defaults.enabled=true",
            "pigeonhole.inbox.background-processing=false");
  }

  @AfterEach
  void stop() {
    app.close();
    database.close();
  }

  /** One that is done, one that fails, one under a known id, and one that nobody can read. */
  private void handle(int number) {
    Inbox inbox = app.bean(Inbox.class);
    String id = ID + number;
    Message good = Message.of(id, new Order(CONTENT, false)).header("h", HEADER);
    assertThat(inbox.accept("orders", good)).isInstanceOf(Acceptance.Accepted.class);
    assertThat(inbox.accept("orders", Message.of(id, new Order(CONTENT + "-2", false))))
        .isInstanceOf(Acceptance.Conflict.class);
    inbox.accept("orders", Message.of(id + "-bad", new Order(CONTENT, true)));
    byte[] broken = ("{\"id\":\"" + CONTENT).getBytes(StandardCharsets.UTF_8);
    inbox.accept("orders", Message.encoded(id + "-broken", "Order", broken, "application/json"));
    inbox.drain();
  }

  @Test
  void sc15_e27_nothingThatAMessageCarriesIsLogged(CapturedOutput output) {
    handle(1);

    assertThat(output)
        .contains(ID + 1)
        .contains("PH-PAY-")
        .doesNotContain(CONTENT)
        .doesNotContain(HEADER);
  }

  @Test
  void sc26_noEndpointShowsWhatAMessageCarries() throws Exception {
    handle(1);

    JsonMapper json = JsonMapper.shared();
    Set<String> pages =
        new TreeSet<>(Set.of("pigeonhole", "pigeonhole/inbox", "health", "info", "metrics"));
    for (JsonNode name : json.readTree(app.get("metrics").body()).get("names")) {
      pages.add("metrics/" + name.asString());
    }
    assertThat(pages).contains("metrics/pigeonhole.inbox.accept");
    for (String page : pages) {
      String body = app.get(page).body();
      assertThat(body).as(page).isNotEmpty().doesNotContain("canary");
    }
  }

  @Test
  void whyAChangeIsRefusedIsToldWhereSomebodyAsksForIt() throws Exception {
    String withoutReason = "{\"action\":\"retry\",\"handler\":\"see\"}";
    try (WebApp telling =
        WebApp.run(
            database,
            Handling.class,
            "pigeonhole.inbox.background-processing=false",
            "spring.web.error.include-message=always")) {
      HttpResponse<String> told = telling.post("/actuator/pigeonhole/inbox", "k-1", withoutReason);
      assertThat(told.statusCode()).isEqualTo(400);
      assertThat(told.body()).contains("This action needs a reason.");
    }
    HttpResponse<String> not = app.post("/actuator/pigeonhole/inbox", "k-1", withoutReason);
    assertThat(not.statusCode()).isEqualTo(400);
    assertThat(not.body()).isNotEmpty().doesNotContain("needs a reason");
  }

  /** Counts, names and times; whoever adds a field has to come here. */
  @Test
  void sc26_theEndpointHasTheseFieldsAndNoOthers() throws Exception {
    handle(1);
    app.bean(Inbox.class).admin().as("ann").pause("see", "slow");

    Map<String, String> fields = new TreeMap<>();
    collect("", JsonMapper.shared().readTree(app.get("pigeonhole/inbox").body()), fields);
    assertThat(fields.keySet())
        .containsExactlyInAnyOrder(
            ".standing.kind",
            ".standing.working",
            ".standing.ownedLanes",
            ".standing.unownedLanes",
            ".standing.conflicts",
            ".standing.handlers.see.pending",
            ".standing.handlers.see.scheduled",
            ".standing.handlers.see.paused",
            ".standing.handlers.see.held",
            ".standing.handlers.see.blocked",
            ".standing.handlers.see.poisoned",
            ".standing.handlers.see.lag",
            ".nodes.name",
            ".nodes.state",
            ".nodes.handlers",
            ".nodes.lanes",
            ".paused.handler",
            ".paused.since",
            ".paused.by",
            ".paused.reason",
            ".failures.failedWith",
            ".failures.type",
            ".failures.deliveries",
            ".failures.handlers",
            ".failures.first",
            ".failures.last");
  }

  /** Nodes and operators may be anywhere. */
  @Test
  void op11_timesAreInUtcWhereverTheNodeIs() throws Exception {
    TimeZone usual = TimeZone.getDefault();
    TimeZone.setDefault(TimeZone.getTimeZone("Asia/Kolkata"));
    try (WebApp far =
        WebApp.run(
            database,
            Handling.class,
            "pigeonhole.inbox.background-processing=false",
            "spring.jackson.time-zone=Asia/Kolkata",
            "spring.jackson.property-naming-strategy=SNAKE_CASE",
            "spring.jackson.datatype.datetime.write-dates-as-timestamps=true")) {
      handle(1);
      app.bean(Inbox.class).admin().as("ann").pause("see", "slow");

      Map<String, String> fields = new TreeMap<>();
      collect("", JsonMapper.shared().readTree(far.get("pigeonhole/inbox").body()), fields);
      for (String time : Set.of(".paused.since", ".failures.first", ".failures.last")) {
        assertThat(fields.get(time))
            .as(time)
            .matches("\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d(\\.\\d+)?Z");
      }
      assertThat(fields.get(".paused.since"))
          .isEqualTo(app.bean(Inbox.class).admin().paused().get(0).since().toString());
      assertThat(fields.get(".standing.handlers.see.lag")).matches("PT[\\d.]+S");
    } finally {
      TimeZone.setDefault(usual);
    }
  }

  @Test
  void op04_e28_messagesMakeNoMetersAndNoTags() {
    handle(1);
    Set<Meter.Id> after = meters();
    for (int number = 2; number <= 20; number++) {
      handle(number);
    }

    assertThat(meters()).isEqualTo(after);
    assertThat(after)
        .anyMatch(each -> each.getName().equals("pigeonhole.inbox.accept"))
        .anyMatch(each -> each.getName().equals("pigeonhole.inbox.process"))
        .noneMatch(each -> each.toString().contains("canary"));
  }

  private Set<Meter.Id> meters() {
    return app.bean(MeterRegistry.class).getMeters().stream()
        .map(Meter::getId)
        .filter(each -> each.getName().startsWith("pigeonhole"))
        .collect(Collectors.toSet());
  }

  /** Every field by its path, those of all elements of a list together. */
  private static void collect(String path, JsonNode node, Map<String, String> into) {
    if (node.isObject()) {
      node.properties().forEach(each -> collect(path + "." + each.getKey(), each.getValue(), into));
    } else if (node.isArray() && !node.isEmpty()) {
      node.forEach(each -> collect(path, each, into));
    } else {
      into.put(path, node.isValueNode() ? node.asString() : "");
    }
  }

  @Configuration(proxyBeanMethods = false)
  @EnableAutoConfiguration
  static class Handling {
    @InboxHandler(channel = "orders", key = "see")
    void see(Order order) {
      if (order.bad()) {
        throw new PoisonException(THROWN);
      }
    }
  }
}
