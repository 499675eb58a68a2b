package dev.pigeonhole.examples.docs;

import static java.time.Duration.ofDays;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.Channel;
import dev.pigeonhole.Guard;
import dev.pigeonhole.GuardKey;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.Message;
import dev.pigeonhole.RunningInbox;
import dev.pigeonhole.cloudevents.CloudEventMapper;
import dev.pigeonhole.examples.docs.Shop.OrderPlaced;
import dev.pigeonhole.examples.docs.Shop.PaymentReceived;
import dev.pigeonhole.examples.docs.Shop.Stock;
import dev.pigeonhole.jdbc.JdbcStore;
import dev.pigeonhole.jdbc.Schema;
import dev.pigeonhole.outbox.Outbox;
import dev.pigeonhole.outbox.Route;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import dev.pigeonhole.testkit.MemoryQueue;
import dev.pigeonhole.transport.Envelope;
import dev.pigeonhole.transport.Transport;
import java.sql.Connection;
import java.util.ArrayList;
import java.util.List;
import javax.sql.DataSource;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The outbox, as the documentation shows it. */
class DocSnippetsOutboxTest {
  private final TestDatabase database = TestDatabases.open(DatabaseKind.H2);
  private final DataSource dataSource = database.pool(20);
  private final JdbcStore store = JdbcStore.of(dataSource);
  private final MemoryQueue queue = MemoryQueue.named("orders");
  private final Transport broker = queue.transport();
  private final Stock stock = new Stock();

  @BeforeEach
  void makeTheTables() {
    // snippet:outbox-schema
    Schema.migrate(dataSource);
    Schema.ofDefaults().prefix("pigeonhole_out_").applyTo(dataSource);
    // end
    database.execute("CREATE TABLE reservation (order_id VARCHAR(50))");
  }

  @AfterEach
  void drop() {
    database.close();
  }

  private List<String> sent() {
    return queue.waiting().stream().map(Envelope::id).map(id -> id.orElse("")).toList();
  }

  @Test
  void aMessageGoesOutIfTheTransactionCommits() throws Exception {
    // snippet:outbox
    Outbox outbox =
        Outbox.on(store)
            .named("shop")
            .route(
                Route.of(OrderPlaced.class).named("order.placed").orderedBy(OrderPlaced::customer),
                broker)
            .sendTimeout(ofSeconds(30))
            .keepReceipts(ofDays(7))
            .build();
    // end
    String id;
    try (Connection connection = dataSource.getConnection()) {
      connection.setAutoCommit(false);
      // snippet:outbox-publish
      stock.reserve(connection, new OrderPlaced("o-1", "c-1"));
      id = outbox.publish(connection, Message.of(new OrderPlaced("o-1", "c-1")));
      outbox.publish(connection, Message.of(new OrderPlaced("o-2", "c-1")).after(ofMinutes(5)));
      connection.commit();
      outbox.wake();
      // end
    }
    // snippet:outbox-start
    RunningInbox running = outbox.start(); // closing it is a graceful stop
    // end
    try (running) {
      Eventually.until(ofMinutes(5), () -> running.healthy() && sent().contains(id));
    }
    assertThat(queue.waiting().get(0).type()).contains("order.placed");
  }

  @Test
  void messagesGoOutAsCloudEvents() throws Exception {
    // snippet:outbox-events
    Route<OrderPlaced> events =
        Route.of(OrderPlaced.class)
            .named("com.shop.order.placed")
            .mappedBy(CloudEventMapper.create().source("/shop"));
    // end
    Outbox outbox = Outbox.on(store).route(events, broker).build();
    try (Connection connection = dataSource.getConnection()) {
      connection.setAutoCommit(false);
      Message message = Message.of(new OrderPlaced("o-1", "c-1"));
      outbox.publish(connection, List.of(message.id("m-1"), message.id("m-2").from("/checkout")));
      connection.commit();
    }
    outbox.drain();

    assertThat(queue.waiting())
        .extracting(each -> each.headers().text("cloudEvents_source").orElse(""))
        .containsExactlyInAnyOrder("/shop", "/checkout");
    assertThat(outbox.admin().find("/shop", "m-1", "com.shop.order.placed")).isPresent();
  }

  @Test
  void handlersPublish() {
    Outbox outbox = Outbox.on(store).route(OrderPlaced.class, broker).build();
    // snippet:outbox-handler
    Channel payments =
        Channel.named("payments")
            .on(PaymentReceived.class)
            .handleInTransaction(
                "reserve-stock",
                (payment, tx) -> {
                  OrderPlaced order = new OrderPlaced(payment.reference(), payment.account());
                  stock.reserve(tx.connection(), order);
                  tx.publish(Message.of("placed-" + payment.reference(), order));
                })
            .handleMessage(
                "tell-others",
                received ->
                    received.publish(
                        Message.of(new OrderPlaced(received.payload().reference(), "all"))))
            .build();

    Inbox inbox = Inbox.on(store).channel(payments).outbox(outbox).build();
    // end
    inbox.accept("payments", Message.of("p-1", new PaymentReceived("o-1", "c-1", 100)));
    inbox.drain();
    outbox.drain();

    assertThat(sent()).hasSize(2).contains("placed-o-1");
    assertThat(database.count("SELECT count(*) FROM reservation")).isEqualTo(1);
  }

  @Test
  void guardsPublish() throws Exception {
    Outbox outbox = Outbox.on(store).route(OrderPlaced.class, broker).build();
    OrderPlaced order = new OrderPlaced("o-1", "c-1");
    // snippet:outbox-guard
    try (Guard guard = Guard.on(store).outbox(outbox).build()) {
      GuardKey key = GuardKey.of("place-order", OrderPlaced.class, order.order());
      guard.run(
          key,
          tx -> {
            stock.reserve(tx.connection(), order);
            return tx.publish(Message.of(order));
          });
    }
    // end
    outbox.drain();
    assertThat(sent()).hasSize(1);
  }

  @Test
  void straightIntoAnInboxOfTheSameDatabase() throws Exception {
    List<String> shipped = new ArrayList<>();
    Channel orders =
        Channel.named("orders")
            .on(OrderPlaced.class)
            .handle("ship", order -> shipped.add(order.order()))
            .build();
    // snippet:outbox-into
    Inbox shipping = Inbox.on(store).named("shipping").channel(orders).build();

    Outbox outbox =
        Outbox.on(store)
            .route(PaymentReceived.class, broker)
            .into(OrderPlaced.class, shipping.publisher("orders"))
            .build();
    // end
    try (Connection connection = dataSource.getConnection()) {
      connection.setAutoCommit(false);
      outbox.publish(connection, Message.of(new OrderPlaced("o-1", "c-1")));
      connection.commit();
    }
    shipping.drain();

    assertThat(shipped).containsExactly("o-1");
    assertThat(outbox.drain()).isZero();
  }
}
