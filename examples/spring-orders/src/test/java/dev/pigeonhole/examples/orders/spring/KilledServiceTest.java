package dev.pigeonhole.examples.orders.spring;

import static dev.pigeonhole.examples.orders.spring.SpringOrders.LONG;
import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.support.JavaProcess;
import dev.pigeonhole.support.OrderLoad;
import dev.pigeonhole.support.RabbitServer;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import java.io.IOException;
import java.time.Duration;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

/**
 * Orders over HTTP to a service that is killed twice: once while its outbox leads straight into its
 * inbox, and once, as from then on, with a broker in between. Every order that a customer was
 * promised has each of its effects, once.
 */
class KilledServiceTest {
  private static final int ORDERS =
      "full".equals(System.getProperty("pigeonhole.size")) ? 5_000 : 500;
  private static final int THIRD = ORDERS / 3;
  private static final int KILLED = 137;

  /** While it holds, orders come faster than stock is reserved, whatever the machine. */
  private static final String SLOWLY = "--pigeonhole.handlers.reserve-stock.rate=2";

  private static final String OVER_RABBITMQ = "--spring.profiles.active=rabbitmq";

  @Test
  @Tag("full")
  void everyOrderHasItsEffectsOnceThoughTheServiceIsKilledTwice() throws Exception {
    RabbitServer broker = RabbitServer.shared();
    String host = broker.newVirtualHost();
    try (TestDatabase database = TestDatabases.open(DatabaseKind.POSTGRES);
        SpringOrders service =
            SpringOrders.on(
                database,
                "--spring.rabbitmq.port=" + broker.amqpPort(),
                "--spring.rabbitmq.virtual-host=" + host);
        OrderLoad load = new OrderLoad(service.http(), 8, ORDERS)) {
      service.start(SLOWLY);
      isUp(service);
      assertThat(service.deliveries("write-invoice", "pending")).isZero();
      assertThat(service.deliveries("reserve-stock", "pending")).isZero();

      load.allow(THIRD);
      load.awaitTaken(THIRD);
      hasBacklog(service);
      killWhileOrdersCome(service, database, load);

      service.start(SLOWLY, OVER_RABBITMQ);
      load.awaitTaken(2 * THIRD);
      assertThat(load.again()).as("orders that the kill has hit").isPositive();
      hasBacklog(service);
      killWhileOrdersCome(service, database, load);

      service.start(OVER_RABBITMQ);
      load.allow(ORDERS);
      load.awaitTaken(ORDERS);
      String all = "{\"orders\":%1$d,\"invoices\":%1$d,\"reservations\":%1$d}".formatted(ORDERS);
      Eventually.passes(LONG, () -> assertThat(service.counts().toString()).isEqualTo(all));
      Eventually.until(LONG, () -> service.toSend() == 0 && broker.messages(host, "orders") == 0);
      Eventually.passes(LONG, () -> isDrained(service));
      isUp(service);
      assertThat(service.counts().toString()).as("when nothing is left to do").isEqualTo(all);
      assertThat(broker.messages(host, "orders.dead")).isZero();
      for (String effect : new String[] {"invoice", "reservation"}) {
        assertThat(database.count("SELECT count(DISTINCT order_id) FROM " + effect))
            .as("orders with %s", effect)
            .isEqualTo(ORDERS);
      }
      System.out.printf("%d orders, of which customers sent %d again%n", ORDERS, load.again());
      assertThat(Meters.missingIn(service.prometheus())).isEmpty();
    }
  }

  private static void isUp(SpringOrders service) throws IOException, InterruptedException {
    assertThat(service.http().get("/actuator/health").status()).isEqualTo(200);
    JsonNode health = service.json("/actuator/health");
    assertThat(health.path("status").asString()).isEqualTo("UP");
    JsonNode ours = health.path("components").path("pigeonhole");
    assertThat(ours.path("status").asString()).isEqualTo("UP");
    assertThat(ours.path("details").path("inbox").path("working").asBoolean()).isTrue();
    assertThat(ours.path("details").path("inbox").path("poisoned").asString()).isEqualTo("0");
    assertThat(service.inbox().path("kind").asString()).isEqualTo("inbox");
    assertThat(service.inbox().path("working").asBoolean()).isTrue();
  }

  /** Being behind is no illness: health tells of it and stays up. */
  private static void hasBacklog(SpringOrders service) throws IOException, InterruptedException {
    isUp(service);
    assertThat(service.deliveries("reserve-stock", "pending")).isPositive();
    Duration lag =
        Duration.parse(
            service
                .json("/actuator/health")
                .at("/components/pigeonhole/details/inbox/lag")
                .asString());
    assertThat(lag).isPositive();
  }

  private static void isDrained(SpringOrders service) throws IOException, InterruptedException {
    for (String handler : new String[] {"write-invoice", "reserve-stock"}) {
      for (String state :
          new String[] {"pending", "scheduled", "paused", "held", "blocked", "poisoned"}) {
        assertThat(service.deliveries(handler, state)).as(handler + " " + state).isZero();
      }
    }
  }

  /** It has to hit: orders that customers were promised are not finished, and others not taken. */
  private static void killWhileOrdersCome(
      SpringOrders service, TestDatabase database, OrderLoad load) {
    int before = load.taken();
    JavaProcess victim = service.http().process();
    load.whenTaken(before + 1, victim::kill9);
    load.allow(THIRD);
    load.awaitTaken(before + 1);
    assertThat(victim.waitFor(SpringOrders.LONG)).isEqualTo(KILLED);
    assertThat(database.count("SELECT count(*) FROM reservation"))
        .as("reservations, of orders that were taken before the kill")
        .isLessThan(database.count("SELECT count(*) FROM orders"));
    assertThat(load.taken()).isLessThan(before + THIRD);
  }
}
