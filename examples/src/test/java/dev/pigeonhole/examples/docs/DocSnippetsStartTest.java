package dev.pigeonhole.examples.docs;

import static dev.pigeonhole.HandlerOption.inline;
import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.Acceptance;
import dev.pigeonhole.Channel;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.Message;
import dev.pigeonhole.Pigeonhole;
import dev.pigeonhole.Published;
import dev.pigeonhole.Requirement;
import dev.pigeonhole.RunningInbox;
import dev.pigeonhole.admin.DeliveryState;
import dev.pigeonhole.examples.docs.Shop.Mailer;
import dev.pigeonhole.examples.docs.Shop.OrderPlaced;
import dev.pigeonhole.examples.docs.Shop.PaymentReceived;
import dev.pigeonhole.examples.docs.Shop.Stock;
import dev.pigeonhole.jdbc.JdbcStore;
import dev.pigeonhole.jdbc.Schema;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import javax.sql.DataSource;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The first steps of the documentation, against a real database. */
class DocSnippetsStartTest {
  private final Mailer mailer = new Mailer();
  private final Stock stock = new Stock();
  private TestDatabase database;
  private DataSource dataSource;

  @BeforeEach
  void open() {
    database = TestDatabases.open(DatabaseKind.H2);
    database.execute("CREATE TABLE reservation (order_id VARCHAR(50) NOT NULL)");
    dataSource = database.pool(20);
  }

  @AfterEach
  void close() {
    database.close();
  }

  @Test
  void start() {
    // snippet:start
    Schema.migrate(dataSource); // once, with a role that may create tables

    Channel orders =
        Channel.named("orders")
            .on(OrderPlaced.class)
            .handle("send-receipt", order -> mailer.sendReceipt(order))
            .handleInTransaction(
                "reserve-stock", (order, tx) -> stock.reserve(tx.connection(), order))
            .build();

    Inbox inbox = Inbox.on(JdbcStore.of(dataSource)).channel(orders).build();
    RunningInbox running = inbox.start(); // close() it when the application stops

    Acceptance answer = inbox.accept("orders", Message.of("m-1", new OrderPlaced("o-1", "c-1")));
    // From here on the message is safe: acknowledge it to whoever sent it.
    // end

    assertThat(answer).isInstanceOf(Acceptance.Accepted.class);
    assertThat(inbox.accept("orders", Message.of("m-1", new OrderPlaced("o-1", "c-1"))))
        .isInstanceOf(Acceptance.Repeat.class);
    Eventually.until(
        "both handlers to finish",
        Duration.ofMinutes(5),
        () ->
            isCompleted(inbox, "orders", "m-1", "send-receipt")
                && isCompleted(inbox, "orders", "m-1", "reserve-stock"));
    running.close();
    assertThat(mailer.sent).containsExactly("o-1");
    assertThat(database.count("SELECT COUNT(*) FROM reservation")).isEqualTo(1);
  }

  private static boolean isCompleted(Inbox inbox, String source, String id, String handler) {
    return inbox
        .find(source, id, handler)
        .filter(view -> view.state() == DeliveryState.COMPLETED)
        .isPresent();
  }

  /** A broker, as far as these pages need one. */
  private static final class Broker {
    final List<String> told = new ArrayList<>();

    void acknowledge() {
      told.add("acknowledge");
    }

    void deadLetter(String reason) {
      told.add("deadLetter " + reason);
    }

    void requeue(Duration delay) {
      told.add("requeue after " + delay);
    }
  }

  @Test
  void acknowledge() {
    Schema.migrate(dataSource);
    Channel orders =
        Channel.named("orders")
            .on(OrderPlaced.class)
            .handle("send-receipt", mailer::sendReceipt)
            .build();
    Inbox inbox = Inbox.on(JdbcStore.of(dataSource)).channel(orders).build();
    Broker broker = new Broker();
    byte[] body = "{\"order\":\"o-1\",\"customer\":\"c-1\"}".getBytes(StandardCharsets.UTF_8);
    for (String id : new String[] {"m-1", "m-1", ""}) {
      // snippet:acknowledge
      Acceptance answer =
          inbox.accept("orders", Message.encoded(id, "OrderPlaced", body, "application/json"));
      if (answer instanceof Acceptance.Rejected rejected) {
        broker.deadLetter(rejected.reason()); // it would be rejected again
      } else if (!(answer instanceof Acceptance.Unfinished)) {
        broker.acknowledge(); // accepted, known before, or kept as a conflict
      }
      // Unfinished by an inline handler, or a StoreException: it has to come again, after a while.
      // end
    }
    assertThat(broker.told).hasSize(3).startsWith("acknowledge", "acknowledge");
    assertThat(broker.told.get(2)).contains("PH-ID-01");
    assertThat(inbox.drain()).isEqualTo(1);
    assertThat(mailer.sent).containsExactly("o-1");
  }

  @Test
  void inlineHandlers() {
    Schema.migrate(dataSource);
    // snippet:inline
    Channel orders =
        Channel.named("orders")
            .on(OrderPlaced.class)
            .handleInTransaction(
                "reserve-stock", (order, tx) -> stock.reserve(tx.connection(), order), inline())
            .handle("send-receipt", mailer::sendReceipt) // stored, and tried again by the inbox
            .build();
    // end
    Inbox inbox = Inbox.on(JdbcStore.of(dataSource)).channel(orders).build();
    inbox.accept("orders", Message.of("m-1", new OrderPlaced("o-1", "c-1")));
    assertThat(database.count("SELECT COUNT(*) FROM reservation")).isEqualTo(1);
    assertThat(mailer.sent).isEmpty();
    inbox.drain();
    assertThat(mailer.sent).containsExactly("o-1");
  }

  @Test
  void unfinished() {
    Schema.migrate(dataSource);
    Channel orders =
        Channel.named("orders")
            .inline()
            .on(OrderPlaced.class)
            .handle("send-receipt", mailer::sendReceipt)
            .build();
    Inbox inbox = Inbox.on(JdbcStore.of(dataSource)).channel(orders).build();
    Broker broker = new Broker();
    mailer.failTimes(1);
    byte[] broken = "no JSON".getBytes(StandardCharsets.UTF_8);
    for (Message message :
        List.of(
            Message.of("m-1", new OrderPlaced("o-1", "c-1")),
            Message.encoded("m-2", "OrderPlaced", broken, "application/json"))) {
      // snippet:unfinished
      Acceptance answer = inbox.accept("orders", message);
      if (answer instanceof Acceptance.Unfinished unfinished) {
        if (unfinished.forGood()) {
          broker.deadLetter("given up by " + unfinished.failures().keySet());
        } else {
          broker.requeue(Duration.ofSeconds(30)); // the broker's limit of deliveries ends it
        }
      }
      // end
    }
    assertThat(broker.told)
        .containsExactly("requeue after PT30S", "deadLetter given up by [send-receipt]");
  }

  @Test
  void acceptInTransaction() throws SQLException {
    Schema.migrate(dataSource);
    Channel orders =
        Channel.named("orders")
            .on(OrderPlaced.class)
            .handle("send-receipt", mailer::sendReceipt)
            .build();
    Inbox inbox = Inbox.on(JdbcStore.of(dataSource)).channel(orders).build();
    OrderPlaced order = new OrderPlaced("o-1", "c-1");
    // snippet:accept-in-transaction
    try (Connection connection = dataSource.getConnection()) {
      connection.setAutoCommit(false);
      stock.reserve(connection, order);
      inbox.accept(connection, "orders", Message.of("m-1", order));
      connection.commit(); // the reservation and the message, or neither
    }
    inbox.wake(); // otherwise polling finds it within a second
    // end
    assertThat(inbox.drain()).isEqualTo(1);
    assertThat(database.count("SELECT COUNT(*) FROM reservation")).isEqualTo(1);
  }

  @Test
  void priority() {
    Schema.migrate(dataSource);
    List<String> sent = new ArrayList<>();
    Channel orders =
        Channel.named("orders")
            .on(OrderPlaced.class)
            .handle("send-receipt", order -> sent.add(order.order()))
            .build();
    Inbox inbox = Inbox.on(JdbcStore.of(dataSource)).channel(orders).build();
    inbox.accept("orders", Message.of("m-0", new OrderPlaced("o-0", "c-1")));
    OrderPlaced order = new OrderPlaced("o-1", "c-1");
    // snippet:priority
    inbox.accept("orders", Message.of("m-1", order).priority(9)); // 0 to 9, 4 without it
    // end
    inbox.drain();
    assertThat(sent).containsExactly("o-1", "o-0");
  }

  @Test
  void identityAndOrder() {
    Schema.migrate(dataSource);
    List<String> posted = new ArrayList<>();
    // snippet:keyed-and-ordered
    Channel payments =
        Channel.named("payments")
            .on(PaymentReceived.class)
            .keyedBy(PaymentReceived::reference)
            .orderedBy(PaymentReceived::account)
            .handle("post-to-ledger", payment -> posted.add(payment.reference()))
            .build();
    // end
    Inbox inbox = Inbox.on(JdbcStore.of(dataSource)).channel(payments).build();
    inbox.accept("payments", Message.of("m-1", new PaymentReceived("r-1", "a-1", 100)));
    inbox.accept("payments", Message.of("m-2", new PaymentReceived("r-1", "a-1", 100)));
    inbox.accept("payments", Message.of("m-3", new PaymentReceived("r-2", "a-1", 200)));
    inbox.drain();
    assertThat(posted).containsExactly("r-1", "r-2");
    assertThat(inbox.find("key of PaymentReceived", "r-1", "post-to-ledger")).isPresent();
  }

  @Test
  void application() {
    Schema.migrate(dataSource);
    Channel orders =
        Channel.named("orders")
            .on(OrderPlaced.class)
            .handle("send-receipt", mailer::sendReceipt)
            .build();
    Inbox inbox = Inbox.on(JdbcStore.of(dataSource)).named("shop").channel(orders).build();
    List<String> shown = new ArrayList<>();
    // snippet:application
    Channel screens =
        Channel.named("screens")
            .direct() // at once, on the publisher's thread, without storage or retry
            .withoutInbox()
            .on(OrderPlaced.class)
            .handle("refresh-screens", order -> shown.add(order.order()))
            .build();

    Pigeonhole app = Pigeonhole.of(inbox).direct(screens).requireInbox(Requirement.FAIL).build();
    Published published = app.publish(Message.of("m-1", new OrderPlaced("o-1", "c-1")));
    // end
    assertThat(published.anyRejected()).isFalse();
    assertThat(shown).containsExactly("o-1");
    assertThat(inbox.drain()).isEqualTo(1);
  }
}
