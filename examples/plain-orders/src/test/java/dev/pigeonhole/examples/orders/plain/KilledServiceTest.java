package dev.pigeonhole.examples.orders.plain;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.support.HttpService;
import dev.pigeonhole.support.JavaProcess;
import dev.pigeonhole.support.OrderLoad;
import dev.pigeonhole.support.ServiceParts;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.jar.Attributes;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** The service without a framework, killed in the midst of its work: every effect once. */
class KilledServiceTest {
  private static final Duration LONG = Duration.ofMinutes(10);
  private static final Path JAR = jar();
  private static final int ORDERS =
      "full".equals(System.getProperty("pigeonhole.size")) ? 1_000 : 200;

  /** While it holds, orders come faster than stock is reserved, whatever the machine. */
  private static final String SLOWLY = "--stock-per-second=0.2";

  @Test
  void everyOrderHasItsEffectsOnceThoughTheServiceIsKilled() throws Exception {
    try (TestDatabase database = TestDatabases.open(DatabaseKind.POSTGRES);
        HttpService service = new HttpService(port -> command(database, port));
        OrderLoad load = new OrderLoad(service, 4, ORDERS)) {
      service.start("/actuator/health", SLOWLY);
      assertThat(handler(service, "reserve-stock").path("pending").asLong(-1)).isZero();

      load.allow(ORDERS * 2 / 3);
      load.awaitTaken(ORDERS / 3);
      assertThat(handler(service, "reserve-stock").path("pending").asLong()).isPositive();
      Eventually.passes(
          LONG,
          () ->
              assertThat(service.get("/actuator/health").body()).isEqualTo("{\"status\":\"UP\"}"));
      service.process().kill9();
      assertThat(database.count("SELECT count(*) FROM reservation"))
          .as("reservations, of orders that were taken before the kill")
          .isLessThan(database.count("SELECT count(*) FROM orders"));
      assertThat(load.taken()).isLessThan(ORDERS);

      service.start("/actuator/health");
      load.allow(ORDERS);
      load.awaitTaken(ORDERS);
      Eventually.passes(
          LONG,
          () -> {
            for (String handler : new String[] {"write-invoice", "reserve-stock"}) {
              assertThat(handler(service, handler).toString())
                  .contains("\"pending\":0", "\"poisoned\":0");
            }
          });
      assertThat(service.get("/orders").body())
          .isEqualTo("{\"orders\":%1$d,\"invoices\":%1$d,\"reservations\":%1$d}".formatted(ORDERS));
      for (String effect : new String[] {"invoice", "reservation"}) {
        assertThat(database.count("SELECT count(DISTINCT order_id) FROM " + effect))
            .as("orders with %s", effect)
            .isEqualTo(ORDERS);
      }
      refuses(
          service,
          "{\"id\":\"o-0\",\"customer\":\"c-0\",\"cents\":1}",
          422,
          "another order has this id");
      refuses(service, "an order, please", 400, "this is not an order");
      refuses(service, "{\"customer\":\"c-0\",\"cents\":1}", 400, "this order has no id");
      assertThat(service.get("/actuator/prometheus").body())
          .contains("pigeonhole_inbox_process_seconds_count", "pigeonhole_guard_seconds_count");
    }
  }

  private static void refuses(HttpService service, String order, int status, String why)
      throws IOException, InterruptedException {
    HttpService.Answer answer = service.post("/orders", order);
    assertThat(answer.status()).isEqualTo(status);
    assertThat(answer.body()).isEqualTo("{\"error\":\"%s\"}".formatted(why));
  }

  private static JsonNode handler(HttpService service, String key)
      throws IOException, InterruptedException {
    return JsonMapper.shared()
        .readTree(service.get("/actuator/pigeonhole").body())
        .path("inbox")
        .path("handlers")
        .path(key);
  }

  /** As users start it: the jar, and nothing of the tests. */
  private static JavaProcess.Builder command(TestDatabase database, int port) {
    return JavaProcess.ofJar(JAR)
        .heap("256m")
        .args(
            "--port=" + port,
            "--url=" + database.jdbcUrl(),
            "--user=" + database.user(),
            "--password=" + database.password());
  }

  /**
   * The one that a build has left. Whoever only tests has none there, or one of other classes, and
   * gets one of the classes as they are.
   */
  private static Path jar() {
    Path built = Path.of("target/plain-orders.jar");
    ServiceParts parts = ServiceParts.ofThisModule();
    if (parts.areIn(built)) {
      return built;
    }
    Path packed = Path.of("target/packed");
    String libraries =
        parts.packLibraries(packed.resolve("lib"), Map.of()).stream()
            .map(each -> each.toUri().toString())
            .collect(Collectors.joining(" "));
    return parts.pack(
        packed.resolve("plain-orders.jar"),
        Map.of(
            Attributes.Name.MAIN_CLASS,
            PlainOrders.class.getName(),
            Attributes.Name.CLASS_PATH,
            libraries));
  }
}
