package dev.pigeonhole.examples.docs;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.Channel;
import dev.pigeonhole.Failure;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.Message;
import dev.pigeonhole.RetryPolicy;
import dev.pigeonhole.admin.BlockedKey;
import dev.pigeonhole.admin.BulkChange;
import dev.pigeonhole.admin.ChangePreview;
import dev.pigeonhole.admin.ChangeResult;
import dev.pigeonhole.admin.ConflictDetail;
import dev.pigeonhole.admin.ConflictView;
import dev.pigeonhole.admin.Content;
import dev.pigeonhole.admin.DeliverySelection;
import dev.pigeonhole.admin.DeliveryState;
import dev.pigeonhole.admin.DeliveryView;
import dev.pigeonhole.admin.FailureGroup;
import dev.pigeonhole.admin.HandlerCounts;
import dev.pigeonhole.admin.InboxAdmin;
import dev.pigeonhole.admin.MessageDetail;
import dev.pigeonhole.admin.Page;
import dev.pigeonhole.admin.Pause;
import dev.pigeonhole.event.InboxEvent;
import dev.pigeonhole.event.InboxListener;
import dev.pigeonhole.examples.docs.Shop.Mailer;
import dev.pigeonhole.examples.docs.Shop.OrderPlaced;
import dev.pigeonhole.testkit.MemoryStore;
import dev.pigeonhole.testkit.TestClock;
import dev.pigeonhole.testkit.TestInbox;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** What an operator sees and does. */
class DocSnippetsOperationsTest {
  private final Mailer mailer = new Mailer();
  private final Channel orders =
      Channel.named("orders")
          .on(OrderPlaced.class)
          .handle("send-receipt", mailer::sendReceipt)
          .build();

  @Test
  void investigateAndRetry() {
    List<String> alarms = new ArrayList<>();
    // snippet:listener
    InboxListener alarm =
        InboxListener.create()
            .onPoisoned(event -> alarms.add(event.handler() + " " + event.failure().code().text()))
            .onPoisonedUnknown(event -> alarms.add("nobody knows " + event.handlers()))
            .with(InboxEvent.Stuck.class, event -> alarms.add(event.handler() + " is stuck"))
            .with(InboxEvent.NodeDied.class, event -> alarms.add(event.node() + " died"));
    // end
    TestInbox test =
        TestInbox.of(orders)
            .with(it -> it.retry(RetryPolicy.defaults().maxAttempts(1)).listener(alarm));
    Inbox inbox = test.inbox();
    mailer.failTimes(1);
    test.receive("m-1", new OrderPlaced("o-1", "c-1"));
    test.drain();
    assertThat(alarms).containsExactly("send-receipt PH-HND-01");

    List<String> seen = new ArrayList<>();
    // snippet:investigate
    for (DeliveryView poisoned : inbox.admin().poisoned("send-receipt", 20)) {
      Failure last = poisoned.lastFailure().orElseThrow();
      seen.add(poisoned.message() + " " + last.code().text() + " " + last.message());
    }
    // end
    assertThat(seen).containsExactly("orders/m-1 PH-HND-01 the mail server is down");

    // snippet:retry
    boolean revived =
        inbox.admin().as("jane").retry("orders", "m-1", "send-receipt", "mail server is back");
    // end
    assertThat(revived).isTrue();
    test.drain();

    // snippet:counts
    for (HandlerCounts counts : inbox.admin().counts()) {
      seen.add(
          "%s: %s open, %s poisoned".formatted(counts.handler(), counts.open(), counts.poisoned()));
    }
    // end
    assertThat(seen).contains("send-receipt: 0 open, 0 poisoned");
  }

  @Test
  void pause() {
    Inbox inbox = TestInbox.of(orders).inbox();
    // snippet:pause
    InboxAdmin admin = inbox.admin().as("jane");
    admin.pause("send-receipt", "mail server is down");
    List<Pause> paused = admin.paused(); // who, since when, why
    admin.resume("send-receipt", "mail server is back");
    // end
    assertThat(paused).extracting(Pause::by).containsExactly("jane");
    assertThat(admin.paused()).isEmpty();
  }

  @Test
  void blockedKeys() {
    TestInbox test =
        TestInbox.of(orders).with(it -> it.retry(RetryPolicy.defaults().maxAttempts(1)));
    Inbox inbox = test.inbox();
    mailer.failTimes(1);
    for (String id : List.of("1", "2")) {
      test.receive(
          "orders", Message.of("m-" + id, new OrderPlaced("o-" + id, "c-1")).orderedBy("c-1"));
    }
    test.drain();
    List<String> seen = new ArrayList<>();
    // snippet:blocked-keys
    InboxAdmin admin = inbox.admin().as("jane");
    for (BlockedKey key : admin.blockedKeys(20)) { // the longest blocked first
      seen.add(key.orderingKey() + " waits for " + key.head().orElseThrow());
      admin.releaseKey(key.handler(), key.orderingKey(), "m-1 is not needed for the others");
    }
    // end
    assertThat(seen).containsExactly("c-1 waits for orders/m-1");
    test.drain();
    assertThat(mailer.sent).containsExactly("o-2");
  }

  @Test
  void conflicts() {
    TestInbox test = TestInbox.of(orders);
    Inbox inbox = test.inbox();
    test.receive("m-1", new OrderPlaced("o-1", "c-1"));
    test.receive("m-1", new OrderPlaced("o-2", "c-1"));
    inbox.accept("orders", Message.encoded("m-1", "OrderPlaced", new byte[0], "text/plain"));
    // snippet:conflicts
    InboxAdmin admin = inbox.admin().as("jane");
    for (ConflictView each : admin.conflicts(20)) {
      Optional<Content> copy = admin.conflict(each.conflict()).flatMap(ConflictDetail::content);
      String text = copy.map(it -> new String(it.bytes(), UTF_8)).orElse("");
      if (text.isBlank()) {
        admin.dismissConflict(each.conflict(), "the producer sent an empty copy");
      } else {
        admin.acceptConflict(each.conflict(), each.message().id() + "-2", "both were meant");
      }
    }
    // end
    test.drain();
    assertThat(admin.conflicts(20)).isEmpty();
    assertThat(mailer.sent).containsExactlyInAnyOrder("o-1", "o-2");
  }

  @Test
  void endByHand() {
    mailer.failTimes(2);
    TestInbox test =
        TestInbox.of(orders).with(it -> it.retry(RetryPolicy.defaults().maxAttempts(1)));
    Inbox inbox = test.inbox();
    test.receive("m-1", new OrderPlaced("o-1", "c-1"));
    test.receive("m-2", new OrderPlaced("o-2", "c-1"));
    test.drain();
    // snippet:end-by-hand
    InboxAdmin admin = inbox.admin().as("jane");
    admin.complete("orders", "m-1", "send-receipt", "sent by post"); // somebody has done it
    admin.discard("orders", "m-2", "send-receipt", "a test order"); // nobody needs to
    // end
    assertThat(test.find("m-1", "send-receipt").orElseThrow().state())
        .isEqualTo(DeliveryState.COMPLETED);
    assertThat(test.find("m-2", "send-receipt").orElseThrow().state())
        .isEqualTo(DeliveryState.DISCARDED);
    assertThat(mailer.sent).isEmpty();
  }

  private TestInbox twoPoisoned() {
    mailer.failTimes(2);
    TestInbox test =
        TestInbox.of(orders).with(it -> it.retry(RetryPolicy.defaults().maxAttempts(1)));
    test.receive("m-1", new OrderPlaced("o-1", "c-1"));
    test.receive("m-2", new OrderPlaced("o-2", "c-1"));
    test.drain();
    return test;
  }

  @Test
  void many() {
    TestInbox test = twoPoisoned();
    InboxAdmin admin = test.inbox().admin().as("jane");
    List<String> seen = new ArrayList<>();
    // snippet:groups
    for (FailureGroup group : admin.deliveries().poisoned().failureGroups()) {
      seen.add(group.deliveries() + " × " + group.type() + " at " + group.handlers());
    }
    // end
    assertThat(seen).containsExactly("2 × java.lang.IllegalStateException at [send-receipt]");
    // snippet:pages
    DeliverySelection mail = admin.deliveries().poisoned().handler("send-receipt");
    Page<DeliveryView> page = mail.first(Page.SIZE);
    while (page.next().isPresent()) {
      page = mail.after(page.next().get(), Page.SIZE);
    }
    // end
    assertThat(page.items()).hasSize(2);
    String fingerprint = admin.deliveries().failureGroups().get(0).fingerprint();
    // snippet:bulk-retry
    BulkChange retry =
        admin
            .deliveries()
            .poisoned()
            .handler("send-receipt")
            .failedWith(fingerprint)
            .retry("mail server is back")
            .perSecond(200)
            .operation("incident-17");
    ChangePreview preview = retry.dryRun(); // how many, and a sample; changes nothing
    ChangeResult result = retry.run(); // matched, changed, and why others were skipped
    // end
    test.drain();
    assertThat(preview.chosen().value()).isEqualTo(2);
    assertThat(result.changed()).isEqualTo(2);
    assertThat(mailer.sent).containsExactlyInAnyOrder("o-1", "o-2");
    Instant releaseDay = test.clock().now().plusSeconds(1);
    // snippet:purge
    admin.messages().source("shop/test").receivedBefore(releaseDay).purge("test data").run();
    // end
    assertThat(admin.messages().count().value()).isEqualTo(2);
  }

  @Test
  void edit() {
    TestInbox test = twoPoisoned();
    InboxAdmin admin = test.inbox().admin().as("jane");
    // snippet:edit
    MessageDetail detail = admin.message("orders", "m-1").orElseThrow();
    byte[] broken = detail.content().orElseThrow().bytes(); // may be sensitive
    byte[] mended = new String(broken, UTF_8).replace("o-1", "o-7").getBytes(UTF_8);
    admin.editAndRetry("orders", "m-1", "send-receipt", mended, "the order was renumbered");
    // end
    test.drain();
    assertThat(mailer.sent).containsExactly("o-7");
  }

  @Test
  void replay() {
    List<String> refunded = new ArrayList<>();
    MemoryStore store = MemoryStore.create();
    byte[] content = "o-1".getBytes(UTF_8);
    TestInbox.on(store, new TestClock(), orders)
        .receive("orders", Message.encoded("x-1", "order.cancelled", content, "text/plain"));
    Channel cancelled =
        Channel.named("orders")
            .on(String.class)
            .named("order.cancelled")
            .handle("refund", refunded::add)
            .build();
    TestInbox test = TestInbox.on(store, new TestClock(), cancelled);
    InboxAdmin admin = test.inbox().admin().as("jane");
    // snippet:replay
    admin
        .messages()
        .unhandled()
        .type("order.cancelled")
        .replay("refund", "the release that knows it is out")
        .run();
    // end
    test.drain();
    assertThat(refunded).containsExactly("o-1");
  }
}
