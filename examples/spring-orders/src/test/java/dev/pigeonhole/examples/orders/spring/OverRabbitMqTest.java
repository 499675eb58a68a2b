package dev.pigeonhole.examples.orders.spring;

import static dev.pigeonhole.examples.orders.spring.SpringOrders.LONG;
import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.support.OrderLoad;
import dev.pigeonhole.support.RabbitServer;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

/** The same service with a broker between its outbox and its inbox. */
class OverRabbitMqTest {
  private static final int ORDERS = 100;

  @Test
  void ordersGoOverTheQueueAndHaveTheirEffectsOnce() throws Exception {
    RabbitServer broker = RabbitServer.shared();
    String host = broker.newVirtualHost();
    try (TestDatabase database = TestDatabases.open(DatabaseKind.POSTGRES);
        SpringOrders service =
            SpringOrders.on(
                database,
                "--spring.profiles.active=rabbitmq",
                "--spring.rabbitmq.port=" + broker.amqpPort(),
                "--spring.rabbitmq.virtual-host=" + host);
        OrderLoad load = new OrderLoad(service.http(), 4, ORDERS)) {
      service.start();
      load.allow(ORDERS);
      load.awaitTaken(ORDERS);
      String all = "{\"orders\":%1$d,\"invoices\":%1$d,\"reservations\":%1$d}".formatted(ORDERS);
      Eventually.passes(LONG, () -> assertThat(service.counts().toString()).isEqualTo(all));
      Eventually.until(LONG, () -> broker.messages(host, "orders") == 0);

      // Whoever sends an order again gets the same answer, and no second order comes of it.
      assertThat(
              service
                  .http()
                  .post("/orders", "{\"id\":\"o-0\",\"customer\":\"c-0\",\"cents\":100}")
                  .status())
          .isEqualTo(202);
      assertThat(
              service
                  .http()
                  .post("/orders", "{\"id\":\"o-0\",\"customer\":\"c-0\",\"cents\":999}")
                  .status())
          .isEqualTo(422);
      assertThat(service.counts().toString()).isEqualTo(all);
      assertThat(service.json("/actuator/health").at("/components/rabbit/status").asString())
          .isEqualTo("UP");
      Eventually.until(LONG, () -> service.toSend() == 0);
      JsonNode info = service.json("/actuator/info").path("pigeonhole");
      assertThat(info.path("version").asString()).isEqualTo(ExecutableJar.version());
      assertThat(info.path("store").asString()).contains("PostgreSQL");
      assertThat(info.path("transports").toString()).isEqualTo("[\"rabbitmq\"]");
      assertThat(Meters.missingIn(service.prometheus())).isEmpty();
    }
  }
}
