package dev.pigeonhole.examples.docs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.Channel;
import dev.pigeonhole.Failure;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.Message;
import dev.pigeonhole.RetryPolicy;
import dev.pigeonhole.admin.ConflictView;
import dev.pigeonhole.admin.DeliveryState;
import dev.pigeonhole.admin.DeliveryView;
import dev.pigeonhole.admin.HandlerCounts;
import dev.pigeonhole.admin.InboxAdmin;
import dev.pigeonhole.admin.Pause;
import dev.pigeonhole.event.InboxEvent;
import dev.pigeonhole.event.InboxListener;
import dev.pigeonhole.examples.docs.Shop.Mailer;
import dev.pigeonhole.examples.docs.Shop.OrderPlaced;
import dev.pigeonhole.testkit.TestInbox;
import java.util.ArrayList;
import java.util.List;
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
          "%s: %d open, %d poisoned".formatted(counts.handler(), counts.open(), counts.poisoned()));
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
  void conflicts() {
    TestInbox test = TestInbox.of(orders);
    Inbox inbox = test.inbox();
    test.receive("m-1", new OrderPlaced("o-1", "c-1"));
    test.receive("m-1", new OrderPlaced("o-2", "c-1"));
    inbox.accept("orders", Message.encoded("m-1", "OrderPlaced", new byte[0], "text/plain"));
    // snippet:conflicts
    InboxAdmin admin = inbox.admin().as("jane");
    for (ConflictView each : admin.conflicts(20)) {
      if (each.bytes() == 0) {
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
}
