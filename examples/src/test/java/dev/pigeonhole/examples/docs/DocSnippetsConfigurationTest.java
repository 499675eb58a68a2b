package dev.pigeonhole.examples.docs;

import static dev.pigeonhole.HandlerOption.atMost;
import static dev.pigeonhole.HandlerOption.retrying;
import static dev.pigeonhole.HandlerOption.sharedCommits;
import static dev.pigeonhole.HandlerOption.within;
import static java.time.Duration.ofDays;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.Channel;
import dev.pigeonhole.HandlerTransaction;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.Message;
import dev.pigeonhole.OnConflict;
import dev.pigeonhole.PoisonException;
import dev.pigeonhole.PrunedMessage;
import dev.pigeonhole.Received;
import dev.pigeonhole.RetryLaterException;
import dev.pigeonhole.RetryPolicy;
import dev.pigeonhole.admin.DeliveryState;
import dev.pigeonhole.event.InboxListener;
import dev.pigeonhole.examples.docs.Shop.Mailer;
import dev.pigeonhole.examples.docs.Shop.OrderPlaced;
import dev.pigeonhole.examples.docs.Shop.PaymentReceived;
import dev.pigeonhole.examples.docs.Shop.Payments;
import dev.pigeonhole.examples.docs.Shop.Stock;
import dev.pigeonhole.jdbc.JdbcStore;
import dev.pigeonhole.jdbc.Schema;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import javax.sql.DataSource;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Options and handlers, as the documentation shows them. */
class DocSnippetsConfigurationTest {
  private final Mailer mailer = new Mailer();
  private final Stock stock = new Stock();
  private final Payments payments = new Payments();
  private TestDatabase database;
  private DataSource dataSource;

  @BeforeEach
  void open() {
    database = TestDatabases.open(DatabaseKind.H2);
    database.execute("CREATE TABLE reservation (order_id VARCHAR(50) NOT NULL)");
    database.execute("CREATE TABLE balance (account VARCHAR(50) PRIMARY KEY, cents BIGINT)");
    dataSource = database.pool(40);
    Schema.migrate(dataSource);
  }

  @AfterEach
  void close() {
    database.close();
  }

  private Channel orders() {
    return Channel.named("orders")
        .on(OrderPlaced.class)
        .handle("send-receipt", mailer::sendReceipt)
        .build();
  }

  @Test
  void inboxOptions() {
    Channel orders = orders();
    AtomicInteger alarms = new AtomicInteger();
    // snippet:inbox-options
    Inbox inbox =
        Inbox.on(JdbcStore.of(dataSource))
            .channel(orders)
            .retry(RetryPolicy.exponential(ofSeconds(2)).cappedAt(ofMinutes(5)).maxAttempts(8))
            .concurrency(16)
            .stopGrace(ofSeconds(20))
            .listener(
                InboxListener.create()
                    .onPoisoned(event -> alarms.incrementAndGet())
                    .onPoisonedUnknown(event -> alarms.addAndGet(event.deliveries())))
            .build();
    // end
    inbox.accept("orders", Message.of("m-1", new OrderPlaced("o-1", "c-1")));
    assertThat(inbox.drain()).isEqualTo(1);
    assertThat(alarms).hasValue(0);
  }

  @Test
  void retention() {
    Channel orders = orders();
    List<PrunedMessage> archive = new ArrayList<>();
    // snippet:retention
    Inbox inbox =
        Inbox.on(JdbcStore.of(dataSource))
            .channel(orders)
            .keepReceipts(ofDays(90)) // longer than any producer or broker repeats itself
            .keepPayload(ofDays(7))
            .pruneListener(archive::addAll)
            .build();
    // end
    inbox.accept("orders", Message.of("m-1", new OrderPlaced("o-1", "c-1")));
    assertThat(inbox.drain()).isEqualTo(1);
    assertThat(archive).isEmpty();
  }

  static final class MalformedPayment extends RuntimeException {
    private static final long serialVersionUID = 1L;
  }

  static final class BankClosed extends RuntimeException {
    private static final long serialVersionUID = 1L;
  }

  @Test
  void retryPolicy() {
    // snippet:retry-policy
    RetryPolicy patiently =
        RetryPolicy.exponential(ofSeconds(2))
            .cappedAt(ofMinutes(5))
            .maxAttempts(8)
            .poisonOn(MalformedPayment.class)
            .on(BankClosed.class, RetryPolicy.fixed(ofMinutes(30)).maxAttempts(100));
    // end
    assertThat(patiently.maxAttempts()).isEqualTo(8);
    handlerOptions(patiently);
  }

  private void handlerOptions(RetryPolicy patiently) {
    // snippet:handler-options
    Channel channel =
        Channel.named("payments")
            .onConflict(OnConflict.REJECT)
            .on(PaymentReceived.class)
            .named("payment-received", "PaymentReceived")
            .handle("thank", this::thank, within(ofSeconds(20)), atMost(4))
            .handle("check-for-fraud", this::check, retrying(patiently))
            .handleInTransaction("post-to-ledger", this::post, sharedCommits(50))
            .build();
    // end
    Inbox inbox = Inbox.on(JdbcStore.of(dataSource)).channel(channel).build();
    inbox.accept("payments", Message.of("m-1", new PaymentReceived("r-1", "a-1", 100)));
    assertThat(inbox.drain()).isEqualTo(3);
    assertThat(database.count("SELECT cents FROM balance WHERE account = 'a-1'")).isEqualTo(100);
    assertThat(payments.keys).hasSize(1);
  }

  private void thank(PaymentReceived payment) {
    mailer.sent.add(payment.reference());
  }

  private void check(PaymentReceived payment) {
    payments.charge(payment.account(), 1, payment.reference());
  }

  // snippet:add-to-balance
  void post(PaymentReceived payment, HandlerTransaction<PaymentReceived> tx) throws SQLException {
    try (PreparedStatement add =
        tx.connection()
            .prepareStatement(
                "MERGE INTO balance b USING (VALUES (?, ?)) v (account, cents)"
                    + " ON b.account = v.account"
                    + " WHEN MATCHED THEN UPDATE SET cents = b.cents + v.cents"
                    + " WHEN NOT MATCHED THEN INSERT VALUES (v.account, v.cents)")) {
      add.setString(1, payment.account());
      add.setLong(2, payment.cents());
      add.executeUpdate();
    }
  } // returning commits the balance and the receipt; throwing rolls both back

  // end

  // snippet:idempotency-key
  void charge(Received<PaymentReceived> received) {
    PaymentReceived payment = received.payload();
    payments.charge(payment.account(), payment.cents(), received.idempotencyKey());
  }

  // end

  @Test
  void idempotencyKey() {
    AtomicInteger runs = new AtomicInteger();
    Channel channel =
        Channel.named("payments")
            .on(PaymentReceived.class)
            .handleMessage(
                "charge",
                received -> {
                  charge(received);
                  if (runs.incrementAndGet() < 2) {
                    throw new IllegalStateException("after the charge");
                  }
                },
                retrying(RetryPolicy.fixed(java.time.Duration.ofNanos(1000))))
            .build();
    Inbox inbox = Inbox.on(JdbcStore.of(dataSource)).channel(channel).build();
    inbox.accept("payments", Message.of("m-1", new PaymentReceived("r-1", "a-1", 100)));
    dev.pigeonhole.support.Eventually.until(
        "two attempts",
        ofMinutes(5),
        () -> {
          inbox.drain();
          return runs.get() == 2;
        });
    assertThat(payments.keys).hasSize(1);
  }

  private enum Door {
    OPEN,
    CLOSED,
    GONE
  }

  private Door door = Door.CLOSED;

  // snippet:say-when
  void deliverToWarehouse(OrderPlaced order) {
    switch (door) {
      case GONE -> throw new PoisonException("The warehouse was given up; ask the shop.");
      case CLOSED -> throw RetryLaterException.uncounted(ofMinutes(15));
      case OPEN -> mailer.sendReceipt(order);
    }
  }

  // end

  @Test
  void sayWhen() {
    Channel channel =
        Channel.named("orders")
            .on(OrderPlaced.class)
            .handle("deliver", this::deliverToWarehouse)
            .build();
    Inbox inbox = Inbox.on(JdbcStore.of(dataSource)).channel(channel).build();
    inbox.accept("orders", Message.of("m-1", new OrderPlaced("o-1", "c-1")));
    inbox.drain();
    assertThat(inbox.find("orders", "m-1", "deliver").orElseThrow().state())
        .isEqualTo(DeliveryState.SCHEDULED);
    door = Door.GONE;
    inbox.accept("orders", Message.of("m-2", new OrderPlaced("o-2", "c-1")));
    inbox.drain();
    assertThat(inbox.find("orders", "m-2", "deliver").orElseThrow().state())
        .isEqualTo(DeliveryState.POISONED);
    door = Door.OPEN;
    inbox.accept("orders", Message.of("m-3", new OrderPlaced("o-3", "c-1")));
    inbox.drain();
    assertThat(mailer.sent).containsExactly("o-3");
  }

  @Test
  void separateBeats() {
    DataSource smallPool = database.pool(1);
    Channel orders = orders();
    // snippet:beats
    JdbcStore store = JdbcStore.of(dataSource).beatsOn(smallPool); // one connection is enough
    Inbox inbox = Inbox.on(store).channel(orders).build();
    // end
    assertThat(inbox.drain()).isZero();
  }

  @Test
  void schemaAndPrefix() {
    // snippet:schema
    Schema schema = Schema.ofDefaults().prefix("inbox_");
    schema.applyTo(dataSource); // creates or migrates

    String ddl = schema.sql("postgresql"); // or run it with your own migration tool
    String grants = schema.grants("postgresql", "shop_app"); // what the running role needs

    JdbcStore store = JdbcStore.of(dataSource).prefix("inbox_");
    // end
    assertThat(ddl).contains("CREATE TABLE", "inbox_message");
    assertThat(grants).contains("GRANT", "shop_app");
    assertThat(Inbox.on(store).channel(orders()).build().drain()).isZero();
  }

  // snippet:natural-key
  void reserveOnce(OrderPlaced order, HandlerTransaction<OrderPlaced> tx) throws SQLException {
    stock.reserve(tx.connection(), order); // commits with the receipt: no second reservation
  }

  // end

  @Test
  void effectsHappenOnce() {
    Channel channel =
        Channel.named("orders")
            .on(OrderPlaced.class)
            .handleInTransaction("reserve-stock", this::reserveOnce)
            .build();
    Inbox inbox = Inbox.on(JdbcStore.of(dataSource)).channel(channel).build();
    List<Message> twice = new ArrayList<>();
    twice.add(Message.of("m-1", new OrderPlaced("o-1", "c-1")));
    twice.add(Message.of("m-1", new OrderPlaced("o-1", "c-1")));
    inbox.accept("orders", twice);
    inbox.drain();
    assertThat(database.count("SELECT COUNT(*) FROM reservation")).isEqualTo(1);
  }
}
