package dev.pigeonhole.examples.docs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.Channel;
import dev.pigeonhole.HandlerKey;
import dev.pigeonhole.admin.DrainCheck;
import dev.pigeonhole.examples.docs.Shop.Mailer;
import dev.pigeonhole.examples.docs.Shop.OrderPlaced;
import dev.pigeonhole.testkit.MemoryStore;
import dev.pigeonhole.testkit.TestClock;
import dev.pigeonhole.testkit.TestInbox;
import org.junit.jupiter.api.Test;

/** A rename of a handler key, step by step. */
class DocSnippetsKeysTest {
  private final Mailer mailer = new Mailer();
  private final TestClock clock = new TestClock();
  private final MemoryStore store = MemoryStore.create().clock(clock);

  private Channel before() {
    // snippet:rename-before
    Channel orders =
        Channel.named("orders")
            .on(OrderPlaced.class)
            .handle("order-mailer", mailer::sendReceipt)
            .build();
    // end
    return orders;
  }

  private Channel during() {
    // snippet:rename-during
    HandlerKey sendReceipt = HandlerKey.of("send-receipt").formerly("order-mailer");

    Channel orders =
        Channel.named("orders")
            .on(OrderPlaced.class)
            .handle(sendReceipt, mailer::sendReceipt)
            .build();
    // end
    return orders;
  }

  private Channel after() {
    // snippet:rename-after
    Channel orders =
        Channel.named("orders")
            .on(OrderPlaced.class)
            .handle("send-receipt", mailer::sendReceipt)
            .build();
    // end
    return orders;
  }

  @Test
  void rename() {
    TestInbox old = TestInbox.on(store, clock, before());
    old.receive("m-1", new OrderPlaced("o-1", "c-1"));
    old.receive("m-0", new OrderPlaced("o-0", "c-1"));

    TestInbox renamed = TestInbox.on(store, clock, during());
    assertThat(drained(renamed)).isFalse();
    renamed.drain();
    assertThat(drained(renamed)).isTrue();
    assertThat(mailer.sent).containsExactlyInAnyOrder("o-0", "o-1");

    TestInbox done = TestInbox.on(store, clock, after());
    done.receive("m-1", new OrderPlaced("o-1", "c-1"));
    done.drain();
    assertThat(mailer.sent).hasSize(2);
  }

  private static boolean drained(TestInbox test) {
    dev.pigeonhole.Inbox inbox = test.inbox();
    // snippet:drain-check
    DrainCheck check = inbox.admin().drainCheck("order-mailer");
    boolean mayGo = check.drained(); // check.open() tells how many are left
    // end
    return mayGo;
  }
}
