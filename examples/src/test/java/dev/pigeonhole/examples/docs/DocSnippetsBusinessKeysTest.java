package dev.pigeonhole.examples.docs;

import static dev.pigeonhole.HandlerOption.inline;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.Acceptance;
import dev.pigeonhole.Channel;
import dev.pigeonhole.HandlerOption;
import dev.pigeonhole.Idempotent;
import dev.pigeonhole.IdempotentMessage;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.KeySelector;
import dev.pigeonhole.Message;
import dev.pigeonhole.MessageRef;
import dev.pigeonhole.OnMissingKey;
import dev.pigeonhole.event.EventCounts;
import dev.pigeonhole.event.InboxEvent;
import dev.pigeonhole.examples.docs.Shop.OrderPlaced;
import dev.pigeonhole.examples.docs.Shop.PaymentReceived;
import dev.pigeonhole.jdbc.JdbcStore;
import dev.pigeonhole.jdbc.Schema;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import dev.pigeonhole.testkit.TestInbox;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What tells messages apart. */
class DocSnippetsBusinessKeysTest {
  // snippet:idempotent-message
  record ChargeCard(String reference, long cents) implements IdempotentMessage {
    @Override
    public String idempotencyKey() {
      return "charge:" + reference;
    }
  }

  // end

  // snippet:idempotent-key
  @Idempotent(key = {"tenant", "order.id"})
  record ShipOrder(String tenant, Order order) {}

  record Order(long id, String customer) {}

  // end

  // snippet:idempotent-content
  @Idempotent(except = "requestedAt")
  record ImportData(String source, int batch, Instant requestedAt) {}

  // end

  private final List<Object> handled = new ArrayList<>();
  private final List<Object> told = new ArrayList<>();

  private String channel = "commands";

  private MessageRef accepted(TestInbox inbox, Message message) {
    Acceptance answer = inbox.receive(channel, message);
    assertThat(answer).isInstanceOf(Acceptance.Accepted.class);
    return ((Acceptance.Accepted) answer).message();
  }

  private void repeated(TestInbox inbox, Message message) {
    assertThat(inbox.receive(channel, message)).isInstanceOf(Acceptance.Repeat.class);
  }

  @Test
  void classes() {
    TestInbox inbox =
        TestInbox.of(
            Channel.named("commands")
                .on(ChargeCard.class)
                .handle("charge", handled::add)
                .on(ShipOrder.class)
                .handle("ship", handled::add)
                .on(ImportData.class)
                .handle("import", handled::add)
                .build());

    assertThat(accepted(inbox, Message.of("m-1", new ChargeCard("r-1", 100))).id())
        .isEqualTo("charge:r-1");
    repeated(inbox, Message.of("m-2", new ChargeCard("r-1", 100)));

    assertThat(accepted(inbox, Message.of("m-3", new ShipOrder("acme", new Order(7, "c")))).id())
        .isEqualTo("acme|7");
    repeated(inbox, Message.of("m-4", new ShipOrder("acme", new Order(7, "d"))));

    Instant now = Instant.now();
    assertThat(accepted(inbox, Message.of("m-5", new ImportData("erp", 1, now))).id())
        .matches("[0-9a-f]{64}");
    repeated(inbox, Message.of("m-6", new ImportData("erp", 1, now.plusSeconds(1))));
    String json = "{ \"batch\": 1, \"source\": \"erp\" }";
    repeated(inbox, Message.encoded(null, "ImportData", json.getBytes(UTF_8), "application/json"));
    accepted(inbox, Message.of("m-7", new ImportData("erp", 2, now)));
  }

  @Test
  void undecoded() {
    // snippet:undecoded-keys
    Channel orders =
        Channel.named("orders")
            .on(OrderPlaced.class)
            .keyedBy(KeySelector.jsonPointer("/order"))
            .handle("reserve-stock", order -> handled.add(order))
            .on(byte[].class)
            .named("webhook")
            .keyedBy(KeySelector.header("x-request-id"))
            .handle("forward", bytes -> handled.add(bytes))
            .build();
    // end
    channel = orders.name();
    TestInbox inbox = TestInbox.of(orders);
    byte[] json = "{\"order\":\"o-1\",\"customer\":\"c-1\"}".getBytes(UTF_8);

    assertThat(accepted(inbox, Message.encoded("m-1", "OrderPlaced", json, "application/json")))
        .isEqualTo(new MessageRef("key of OrderPlaced", "o-1"));
    repeated(inbox, Message.of("m-2", new OrderPlaced("o-1", "c-2")));
    Message hook = Message.encoded(null, "webhook", json, "application/json");
    assertThat(accepted(inbox, hook.header("x-request-id", "o-1")))
        .isEqualTo(new MessageRef("key of webhook", "o-1"));
    inbox.drain();
    assertThat(handled).hasSize(2);
  }

  @Test
  void ofAHandler() {
    // snippet:handler-key-selector
    Channel payments =
        Channel.named("payments")
            .on(PaymentReceived.class)
            .handle(
                "post-to-ledger",
                payment -> handled.add(payment),
                HandlerOption.keyedBy(PaymentReceived.class, PaymentReceived::reference))
            .build();
    // end
    channel = payments.name();
    TestInbox inbox = TestInbox.of(payments);
    accepted(inbox, Message.of("m-1", new PaymentReceived("r-1", "a-1", 100)));
    repeated(inbox, Message.of("m-2", new PaymentReceived("r-1", "a-1", 100)));
  }

  @Test
  void ofAnInlineHandler() {
    // snippet:inline-key-selector
    Channel payments =
        Channel.named("payments")
            .on(PaymentReceived.class)
            .handle("tell-customer", payment -> told.add(payment), inline())
            .handle(
                "post-to-ledger",
                payment -> handled.add(payment),
                inline(),
                HandlerOption.keyedBy(PaymentReceived.class, PaymentReceived::reference))
            .build();
    // end
    try (TestDatabase database = TestDatabases.open(DatabaseKind.H2)) {
      Schema.migrate(database.dataSource());
      Inbox inbox = Inbox.on(JdbcStore.of(database.pool(4))).channel(payments).build();
      inbox.accept("payments", Message.of("m-1", new PaymentReceived("r-1", "a-1", 100)));
      inbox.accept("payments", Message.of("m-2", new PaymentReceived("r-1", "a-1", 100)));
    }
    assertThat(told).hasSize(2);
    assertThat(handled).hasSize(1);
  }

  @Test
  void missing() {
    EventCounts counts = EventCounts.create();
    // snippet:missing-key
    Channel payments =
        Channel.named("payments")
            .on(PaymentReceived.class)
            .keyedBy(PaymentReceived::reference)
            .missingKey(OnMissingKey.HASH_CONTENT)
            .handle("post-to-ledger", payment -> handled.add(payment))
            .build();
    // end
    channel = payments.name();
    TestInbox inbox = TestInbox.of(payments).with(it -> it.listener(counts));
    accepted(inbox, Message.of("m-1", new PaymentReceived(null, "a-1", 100)));
    repeated(inbox, Message.of("m-2", new PaymentReceived(null, "a-1", 100)));
    assertThat(counts.of(InboxEvent.WithoutKey.class)).isEqualTo(2);
  }
}
