package dev.pigeonhole.spring.boot;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.pigeonhole.Channel;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.Message;
import dev.pigeonhole.PoisonException;
import dev.pigeonhole.admin.AuditEntry;
import dev.pigeonhole.admin.DeliveryState;
import dev.pigeonhole.codec.PayloadCodec;
import dev.pigeonhole.jdbc.JdbcStore;
import dev.pigeonhole.spring.InboxHandler;
import dev.pigeonhole.spring.PigeonholeLifecycle;
import dev.pigeonhole.support.Eventually;
import jakarta.servlet.Filter;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletRequestWrapper;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.security.Principal;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.Status;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** What operators see and do over HTTP. */
class ActuatorTest {
  private static final Duration LONG = Duration.ofMinutes(5);

  private final HttpClient http = HttpClient.newHttpClient();

  record Order(String id) {}

  record Refund(String id) {}

  @Test
  void operatorsSeeWhereThingsStandAndRetryWhatIsPoisoned() throws Exception {
    try (ConfigurableApplicationContext context = run()) {
      Inbox inbox = context.getBean(Inbox.class);
      inbox.accept("orders", Message.of("m-1", new Order("secret-1")));
      inbox.drain();

      String all = get(context, "").body();
      assertThat(all).contains("\"kind\":\"inbox\"").contains("\"poisoned\":1");
      HttpResponse<String> one = get(context, "/inbox");
      assertThat(one.body()).contains("PoisonException").doesNotContain("secret-1");
      assertThat(get(context, "/other").statusCode()).isEqualTo(404);

      assertThat(post(context, "{\"action\":\"retry\",\"handler\":\"see\"}").statusCode())
          .as("without a reason")
          .isEqualTo(400);
      assertThat(post(context, "{\"action\":\"burn\",\"reason\":\"r\"}").statusCode())
          .isEqualTo(400);
      assertThat(post(context, "{\"action\":\"retry\",\"reason\":\"r\"}").statusCode())
          .as("everything")
          .isEqualTo(400);
      String retry = "{\"action\":\"retry\",\"handler\":\"see\",\"reason\":\"mended\"%s}";
      assertThat(post(context, retry.formatted(",\"dryRun\":true")).body())
          .contains("\"matched\":1")
          .contains("\"changed\":0");
      assertThat(post(context, retry.formatted(",\"actor\":\"ann\"")).body())
          .contains("\"changed\":1");
      assertThat(inbox.admin().audit(10))
          .extracting(AuditEntry::toString)
          .anySatisfy(each -> assertThat(each).contains("ann").contains("mended"));

      assertThat(
              post(context, "{\"action\":\"pause\",\"handler\":\"see\",\"reason\":\"slow\"}")
                  .statusCode())
          .isEqualTo(200);
      assertThat(get(context, "/inbox").body()).contains("slow");
      assertThat(
              post(
                      context,
                      "{\"action\":\"resume\",\"handler\":\"see\",\"reason\":\"r\",\"dryRun\":true}")
                  .body())
          .contains("\"dryRun\":true");
      assertThat(get(context, "/inbox").body()).as("still paused").contains("slow");
    }
  }

  @Test
  void whatCannotBeDoneIsNotAnsweredAsIfItWere() throws Exception {
    try (ConfigurableApplicationContext context = run()) {
      String pause = "{\"action\":\"pause\",\"handler\":\"see\",\"reason\":\"slow\"%s}";
      assertThat(post(context, "/inbux", pause.formatted("")).statusCode())
          .as("an inbox that does not exist")
          .isEqualTo(400);
      for (String wrong :
          List.of(
              "",
              "[]",
              "{}",
              "{\"action\":{\"retry\":1},\"handler\":\"see\",\"reason\":\"r\"}",
              "{\"action\":\"pause\",\"handler\":\"sea\",\"reason\":\"no such handler\"}",
              "{\"action\":\"pause\",\"handler\":\"see\",\"reason\":\" \"}",
              "{\"action\":\"retry\",\"id\":\"%s\",\"reason\":\"r\"}".formatted("i".repeat(1_001)),
              pause.formatted(",\"actor\":\"%s\"".formatted("a".repeat(201))),
              pause.formatted(",\"dryRun\":\"perhaps\""))) {
        assertThat(post(context, wrong).statusCode()).as(wrong).isEqualTo(400);
      }
      assertThat(post(context, pause.formatted(",\"dryRun\":true")).body())
          .contains("\"changed\":0")
          .contains("\"dryRun\":true");
      assertThat(context.getBean(Inbox.class).admin().paused()).isEmpty();

      context.getBean(com.zaxxer.hikari.HikariDataSource.class).close();
      assertThat(post(context, pause.formatted("")).statusCode())
          .as("a database that does not answer")
          .isEqualTo(500);
    }
  }

  @Test
  void aChangeConcernsWhatItChoosesAlone() throws Exception {
    try (ConfigurableApplicationContext context =
        run(TwoHandlers.class, "pigeonhole.inbox.retry.max-attempts=1")) {
      Inbox inbox = context.getBean(Inbox.class);
      inbox.accept("orders", Message.of("m-1", new Order("o-1")).from("shop"));
      inbox.accept("refunds", Message.of("m-2", new Refund("r-1")).from("bank"));
      inbox.drain();
      String failedWith = "";
      for (JsonNode each : json(get(context, "/inbox")).path("failures")) {
        if (each.path("handlers").toString().equals("[\"pay-back\"]")) {
          failedWith = each.path("failedWith").asString();
        }
      }

      String change = "{\"action\":\"%s\",%s,\"reason\":\"r\"}";
      List<String> choices =
          List.of(
              "\"handler\":\"pay-back\"",
              "\"type\":\"Refund\"",
              "\"channel\":\"refunds\"",
              "\"source\":\"bank\"",
              "\"id\":\"m-2\"",
              "\"failedWith\":\"%s\"".formatted(failedWith));
      for (String choice : choices) {
        JsonNode done = json(post(context, change.formatted("retry", choice)));
        assertThat(done.path("changed").asInt()).as(choice).isEqualTo(1);
        assertThat(refund(inbox)).as(choice).isEqualTo(DeliveryState.PENDING);
        assertThat(order(inbox)).as(choice).isEqualTo(DeliveryState.POISONED);
        inbox.drain();
      }
      String neither = "\"id\":\"m-2\",\"source\":\"shop\"";
      assertThat(post(context, change.formatted("discard", neither)).body())
          .contains("\"matched\":0");

      post(context, change.formatted("discard", choices.get(5)));
      assertThat(refund(inbox)).isEqualTo(DeliveryState.DISCARDED);
      assertThat(order(inbox)).isEqualTo(DeliveryState.POISONED);
      post(context, change.formatted("complete", "\"id\":\"m-1\""));
      assertThat(order(inbox)).isEqualTo(DeliveryState.COMPLETED);
    }
  }

  private static DeliveryState order(Inbox inbox) {
    return inbox.admin().find("shop", "m-1", "see").orElseThrow().state();
  }

  private static DeliveryState refund(Inbox inbox) {
    return inbox.admin().find("bank", "m-2", "pay-back").orElseThrow().state();
  }

  @Test
  void whatIsPausedGoesOnAndAMisspeltDryRunIsNone() throws Exception {
    try (ConfigurableApplicationContext context = run()) {
      Inbox inbox = context.getBean(Inbox.class);
      String change = "{\"action\":\"%s\",\"handler\":\"see\",\"reason\":\"r\"%s}";
      assertThat(post(context, change.formatted("pause", ",\"dryrun\":true")).body())
          .contains("\"changed\":1")
          .contains("\"dryRun\":false");
      assertThat(inbox.admin().paused()).hasSize(1);
      assertThat(post(context, change.formatted("resume", "")).body()).contains("\"changed\":1");
      assertThat(inbox.admin().paused()).isEmpty();
    }
  }

  @Test
  void anInboxThatIsWokenLooksForWhatOthersHaveStored() throws Exception {
    try (ConfigurableApplicationContext context =
        run(
            Recording.class,
            "pigeonhole.inbox.background-processing=true",
            "pigeonhole.inbox.polling.min=1d",
            "pigeonhole.inbox.polling.max=1d")) {
      List<String> seen = context.getBean(Recording.class).seen;
      context.getBean(Inbox.class).accept("orders", Message.of("m-1", new Order("o-1")));
      Eventually.until(LONG, () -> seen.contains("o-1"));

      // As another node would, of which this one does not hear.
      Channel orders = Channel.named("orders").on(Order.class).handle("see", each -> {}).build();
      Inbox.on(context.getBean(JdbcStore.class))
          .codec(context.getBean(PayloadCodec.class))
          .channel(orders)
          .build()
          .accept("orders", Message.of("m-2", new Order("o-2")));
      assertThat(post(context, "{\"action\":\"wake\"}").statusCode()).isEqualTo(200);
      Eventually.until(LONG, () -> seen.contains("o-2"));
    }
  }

  @Test
  void theAuditHasWhoeverIsLoggedInAndNotWhomHeNames() throws Exception {
    try (ConfigurableApplicationContext context = run(LoggedIn.class)) {
      Inbox inbox = context.getBean(Inbox.class);
      assertThat(
              post(
                      context,
                      "{\"action\":\"pause\",\"handler\":\"see\",\"reason\":\"slow\","
                          + "\"actor\":\"somebody else\"}")
                  .statusCode())
          .isEqualTo(200);
      assertThat(inbox.admin().audit(10))
          .extracting(AuditEntry::toString)
          .anySatisfy(each -> assertThat(each).contains("olga").doesNotContain("somebody else"));
    }
  }

  @Test
  void attemptsEndBeforeTheWebServer() throws Exception {
    ConfigurableApplicationContext context =
        run(Slow.class, "pigeonhole.inbox.background-processing=true");
    Slow slow = context.getBean(Slow.class);
    context.getBean(Inbox.class).accept("orders", Message.of("m-1", new Order("o-1")));
    slow.running.await();
    Thread closing = new Thread(context::close);
    closing.start();
    slow.stopping.await();

    assertThat(get(context, "").statusCode()).as("while an attempt runs").isEqualTo(200);
    assertThat(closing.isAlive()).isTrue();

    slow.done.countDown();
    closing.join();
    assertThatThrownBy(() -> get(context, "")).isInstanceOf(IOException.class);
  }

  @Test
  void whoMayOnlyReadChangesNothing() throws Exception {
    try (ConfigurableApplicationContext context =
        run("management.endpoint.pigeonhole.access=read-only")) {
      assertThat(get(context, "").statusCode()).isEqualTo(200);
      assertThat(post(context, "{\"action\":\"wake\"}").statusCode()).isEqualTo(405);
    }
  }

  @Test
  void theEndpointIsThereOnlyWhereItIsExposed() {
    AutoConfigurationTest.runner()
        .withUserConfiguration(Handling.class)
        .run(context -> assertThat(context).doesNotHaveBean(PigeonholeEndpoint.class));
    AutoConfigurationTest.runner()
        .withUserConfiguration(Handling.class)
        .withPropertyValues("management.endpoints.web.exposure.include=pigeonhole")
        .run(context -> assertThat(context).hasSingleBean(PigeonholeEndpoint.class));
    AutoConfigurationTest.runner()
        .withUserConfiguration(AutoConfigurationTest.Handling.class)
        .withClassLoader(
            new FilteredClassLoader(
                "org.springframework.boot.actuate", "org.springframework.boot.health"))
        .run(
            context ->
                assertThat(context)
                    .hasNotFailed()
                    .doesNotHaveBean("pigeonholeEndpoint")
                    .doesNotHaveBean("pigeonholeHealthIndicator"));
  }

  @Test
  void healthIsUpWhilePoisonedDeliveriesAreOnlyTold() {
    AutoConfigurationTest.runner()
        .withUserConfiguration(Handling.class)
        .run(
            context -> {
              Inbox inbox = context.getBean(Inbox.class);
              inbox.accept("orders", Message.of("m-1", new Order("o-1")));
              inbox.drain();
              Health health = context.getBean(PigeonholeHealthIndicator.class).health();
              assertThat(health.getStatus()).isEqualTo(Status.UP);
              assertThat(health.getDetails().get("inbox").toString()).contains("poisoned=1");
            });
  }

  @Test
  void healthIsDownWhenTheStoreDoesNotAnswer() {
    AutoConfigurationTest.runner()
        .withUserConfiguration(Handling.class)
        .run(
            context -> {
              context.getBean(com.zaxxer.hikari.HikariDataSource.class).close();
              Health health = context.getBean(PigeonholeHealthIndicator.class).health();
              assertThat(health.getStatus()).isEqualTo(Status.DOWN);
            });
  }

  @Test
  void healthIsDownWhenAnInboxHasNotWorkedForLongerThanARestartTakes() {
    AutoConfigurationTest.runner()
        .withUserConfiguration(Handling.class)
        .withPropertyValues(
            "pigeonhole.inbox.background-processing=true", "pigeonhole.inbox.restart-delay=0s")
        .run(
            context -> {
              PigeonholeHealthIndicator indicator =
                  context.getBean(PigeonholeHealthIndicator.class);
              assertThat(indicator.health().getStatus()).isEqualTo(Status.UP);
              context.getBean(PigeonholeLifecycle.class).stop();
              indicator.health();
              assertThat(indicator.health().getStatus()).isEqualTo(Status.DOWN);
              context.getBean(PigeonholeLifecycle.class).start();
              assertThat(indicator.health().getStatus()).isEqualTo(Status.UP);
            });
  }

  @Test
  void healthCanBeSwitchedOff() {
    AutoConfigurationTest.runner()
        .withUserConfiguration(Handling.class)
        .withPropertyValues("management.health.pigeonhole.enabled=false")
        .run(context -> assertThat(context).doesNotHaveBean(PigeonholeHealthIndicator.class));
  }

  @Test
  void infoTellsWhatItRunsOn() {
    AutoConfigurationTest.runner()
        .withUserConfiguration(Handling.class)
        .run(
            context -> {
              org.springframework.boot.actuate.info.Info.Builder info =
                  new org.springframework.boot.actuate.info.Info.Builder();
              context.getBean(PigeonholeInfoContributor.class).contribute(info);
              assertThat(info.build().get("pigeonhole").toString())
                  .contains("H2")
                  .contains("rabbitmq")
                  .contains("kafka");
            });
  }

  private static JsonNode json(HttpResponse<String> response) {
    return JsonMapper.shared().readTree(response.body());
  }

  private static ConfigurableApplicationContext run(String... more) {
    return run(Handling.class, more);
  }

  private static ConfigurableApplicationContext run(Class<?> application, String... more) {
    List<String> properties =
        new ArrayList<>(
            List.of(
                "server.port=0",
                "spring.flyway.enabled=false",
                "spring.liquibase.enabled=false",
                "spring.datasource.url=jdbc:h2:mem:%s;DB_CLOSE_DELAY=-1"
                    .formatted(UUID.randomUUID()),
                "pigeonhole.inbox.background-processing=false",
                "management.endpoints.web.exposure.include=pigeonhole"));
    properties.addAll(List.of(more));
    return new SpringApplicationBuilder(application)
        .properties(properties.toArray(String[]::new))
        .run();
  }

  private HttpResponse<String> get(ConfigurableApplicationContext context, String path)
      throws IOException, InterruptedException {
    return http.send(request(context, path).build(), BodyHandlers.ofString());
  }

  private HttpResponse<String> post(ConfigurableApplicationContext context, String body)
      throws IOException, InterruptedException {
    return post(context, "/inbox", body);
  }

  private HttpResponse<String> post(
      ConfigurableApplicationContext context, String path, String body)
      throws IOException, InterruptedException {
    return http.send(
        request(context, path)
            .header("Content-Type", "application/json")
            .POST(BodyPublishers.ofString(body))
            .build(),
        BodyHandlers.ofString());
  }

  private static HttpRequest.Builder request(ConfigurableApplicationContext context, String path) {
    String port = context.getEnvironment().getProperty("local.server.port");
    return HttpRequest.newBuilder(
        URI.create("http://localhost:%s/actuator/pigeonhole%s".formatted(port, path)));
  }

  @Configuration(proxyBeanMethods = false)
  @EnableAutoConfiguration
  static class Handling {
    @InboxHandler(channel = "orders", key = "see")
    void see(Order order) {
      throw new PoisonException("no use: " + order.id());
    }
  }

  @Configuration(proxyBeanMethods = false)
  static class TwoHandlers extends Handling {
    @InboxHandler(channel = "refunds", key = "pay-back")
    void payBack(Refund refund) {
      throw new IllegalStateException("the bank is closed: " + refund.id());
    }
  }

  @Configuration(proxyBeanMethods = false)
  @EnableAutoConfiguration
  static class Recording {
    final List<String> seen = new CopyOnWriteArrayList<>();

    @InboxHandler(channel = "orders", key = "see")
    void see(Order order) {
      seen.add(order.id());
    }
  }

  @Configuration(proxyBeanMethods = false)
  static class LoggedIn extends Handling {
    /** As whatever knows users hands them on. */
    @Bean
    Filter login() {
      return (request, response, chain) ->
          chain.doFilter(
              new HttpServletRequestWrapper((HttpServletRequest) request) {
                @Override
                public Principal getUserPrincipal() {
                  return () -> "olga";
                }
              },
              response);
    }
  }

  @Configuration(proxyBeanMethods = false)
  @EnableAutoConfiguration
  static class Slow {
    final CountDownLatch running = new CountDownLatch(1);
    final CountDownLatch stopping = new CountDownLatch(1);
    final CountDownLatch done = new CountDownLatch(1);

    @InboxHandler(channel = "orders", key = "see")
    void see(Order order) throws InterruptedException {
      running.countDown();
      done.await();
    }

    /** Stops right before inboxes do. */
    @Bean
    SmartLifecycle before() {
      return new SmartLifecycle() {
        private volatile boolean running;

        @Override
        public void start() {
          running = true;
        }

        @Override
        public void stop() {
          running = false;
          stopping.countDown();
        }

        @Override
        public boolean isRunning() {
          return running;
        }

        @Override
        public int getPhase() {
          return PigeonholeLifecycle.PHASE + 1;
        }
      };
    }
  }
}
