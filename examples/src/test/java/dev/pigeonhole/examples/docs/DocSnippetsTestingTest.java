package dev.pigeonhole.examples.docs;

import static dev.pigeonhole.testkit.TestInboxAssertions.assertThat;
import static java.time.Duration.ofSeconds;

import dev.pigeonhole.Channel;
import dev.pigeonhole.RetryPolicy;
import dev.pigeonhole.admin.DeliveryState;
import dev.pigeonhole.examples.docs.Shop.Mailer;
import dev.pigeonhole.examples.docs.Shop.OrderPlaced;
import dev.pigeonhole.store.InboxStore;
import dev.pigeonhole.tck.InboxStoreContract;
import dev.pigeonhole.testkit.CrashPlan;
import dev.pigeonhole.testkit.MemoryStore;
import dev.pigeonhole.testkit.TestInbox;
import dev.pigeonhole.testkit.TestInboxExtension;
import java.time.InstantSource;
import org.assertj.core.api.Assertions;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** How an application tests its handlers. */
class DocSnippetsTestingTest {
  private final Mailer mailer = new Mailer();
  private final Channel orders =
      Channel.named("orders")
          .on(OrderPlaced.class)
          .handle("reserve-stock", order -> {})
          .handle("send-receipt", mailer::sendReceipt)
          .build();

  // snippet:test-inbox
  @Test
  void failingHandlerBacksOffWithoutHoldingItsSibling() {
    TestInbox inbox = TestInbox.of(orders);
    mailer.failTimes(1);

    inbox.receive("m-1", new OrderPlaced("o-1", "c-1"));
    inbox.drain();

    assertThat(inbox).delivery("m-1", "reserve-stock").isCompleted();
    assertThat(inbox).delivery("m-1", "send-receipt").hasFailedTimes(1).isScheduled();

    inbox.advance(ofSeconds(2)).drain();

    assertThat(inbox).delivery("m-1", "send-receipt").isCompleted().hasAttempts(2);
    assertThat(inbox).isDrained().hasNoPoison();
  }

  // end

  @Test
  void options() {
    // snippet:test-options
    TestInbox inbox =
        TestInbox.of(orders).with(it -> it.retry(RetryPolicy.defaults().maxAttempts(1)));
    // end
    mailer.failTimes(1);
    inbox.receive("m-1", new OrderPlaced("o-1", "c-1"));
    inbox.drain();
    assertThat(inbox).delivery("m-1", "send-receipt").isPoisoned();
  }

  @Test
  void threads() {
    // snippet:test-threads
    try (TestInbox inbox = TestInbox.of(orders).start()) {
      inbox.receive("m-1", new OrderPlaced("o-1", "c-1"));
      inbox.await("m-1", "send-receipt", DeliveryState.COMPLETED).awaitDrained();
    }
    // end
    Assertions.assertThat(mailer.sent).containsExactly("o-1");
  }

  @Nested
  class WithExtension {
    // snippet:test-extension
    @RegisterExtension
    final TestInboxExtension inboxes =
        TestInboxExtension.of(() -> TestInbox.of(orders)).leavingNothingOpen();

    @Test
    void receiptIsSent(TestInbox inbox) {
      inbox.receive("m-1", new OrderPlaced("o-1", "c-1"));
      inbox.drain();
      assertThat(inbox).delivery("m-1", "send-receipt").isCompleted();
    }
    // end
  }

  @Nested
  class Crashes {
    // snippet:crash-plan
    @AfterEach
    void forget() {
      CrashPlan.clear();
    }

    @Test
    void aCrashAfterTheHandlerRunsItAgain() {
      TestInbox inbox = TestInbox.of(orders);
      CrashPlan.at("settle.before-commit").throwing(() -> new IllegalStateException("cut"));

      inbox.receive("m-1", new OrderPlaced("o-1", "c-1"));
      Assertions.assertThatThrownBy(inbox::drain).hasMessage("cut");
      inbox.drain(); // a new node takes over

      Assertions.assertThat(mailer.sent).containsExactly("o-1", "o-1");
      assertThat(inbox).delivery("m-1", "send-receipt").isCompleted();
    }
    // end
  }

  /** Shown in the documentation; the contract itself is run by the modules that have stores. */
  static final class StoreAuthors {
    // snippet:tck
    static class MyStoreTest extends InboxStoreContract {
      @Override
      protected InboxStore store(InstantSource clock) {
        return MemoryStore.create().clock(clock); // your store, empty, on this clock
      }
    }
    // end
  }
}
