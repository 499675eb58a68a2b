package dev.pigeonhole.examples.docs;

import static java.time.Duration.ofDays;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.GuardKey;
import dev.pigeonhole.Guarded;
import dev.pigeonhole.examples.docs.Shop.OrderPlaced;
import dev.pigeonhole.lease.GuardStore;
import dev.pigeonhole.lease.LeaseGuard;
import dev.pigeonhole.redis.RedisGuardStore;
import dev.pigeonhole.support.RedisServer;
import dev.pigeonhole.tck.GuardStoreContract;
import dev.pigeonhole.testkit.MemoryGuardStore;
import dev.pigeonhole.testkit.TestClock;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.RedisClient;

/** Effectively once, as the documentation shows it. */
class DocSnippetsLeaseTest {
  private final Mailer mailer = new Mailer();
  private final OrderPlaced order = new OrderPlaced("o-1", "c-1");

  /** Sends mail that cannot be taken back, and tells its number. */
  static final class Mailer {
    final List<String> sent = new CopyOnWriteArrayList<>();

    String sendReceipt(OrderPlaced order) {
      sent.add(order.order());
      return "mail-" + sent.size();
    }
  }

  @Test
  void leaseGuard() {
    int port = RedisServer.shared().port();
    // snippet:lease-guard
    RedisClient jedis = RedisClient.create("127.0.0.1", port);
    LeaseGuard guard =
        LeaseGuard.on(RedisGuardStore.of(jedis))
            .lease(ofSeconds(30)) // how long a crash blocks a key
            .keepReceipts(ofDays(7)); // how long a repeat is known

    GuardKey key = GuardKey.of("send-receipt", OrderPlaced.class, order.order());
    Guarded<String> outcome = guard.answer(key, String.class, lease -> mailer.sendReceipt(order));
    // end
    try (jedis) {
      assertThat(outcome).isEqualTo(new Guarded.Ran<>("mail-1"));
      assertThat(tell(guard.answer(key, String.class, lease -> mailer.sendReceipt(order))))
          .isEqualTo("sent before: mail-1");
      assertThat(mailer.sent).hasSize(1);
    }
  }

  private static String tell(Guarded<String> outcome) {
    // snippet:lease-outcomes
    if (outcome instanceof Guarded.Ran<String> ran) {
      return "sent now: " + ran.value();
    }
    if (outcome instanceof Guarded.Repeat<String> known) {
      return "sent before: " + known.answer().orElse("no answer was kept");
    }
    if (outcome instanceof Guarded.Busy) {
      return "somebody is at it; not acknowledged, so it comes again";
    }
    return "the same key with another request: refused";
    // end
  }

  @Test
  void leaseInTests() {
    // snippet:lease-test
    TestClock clock = new TestClock();
    LeaseGuard guard = LeaseGuard.on(MemoryGuardStore.create().clock(clock));
    GuardKey key = GuardKey.of("send-receipt", OrderPlaced.class, "o-1");

    guard.run(key, lease -> mailer.sendReceipt(order));
    guard.run(key, lease -> mailer.sendReceipt(order));
    assertThat(mailer.sent).hasSize(1);

    clock.advance(ofDays(7)); // the receipt is forgotten
    guard.run(key, lease -> mailer.sendReceipt(order));
    assertThat(mailer.sent).hasSize(2);
    // end
  }

  /** Shown in the documentation; the contract itself is run by the modules that have stores. */
  static final class StoreAuthors {
    // snippet:guard-tck
    static class MyGuardStoreTest extends GuardStoreContract {
      @Override
      protected GuardStore store() {
        return MemoryGuardStore.create(); // your store, which knows no name yet
      }
    }
    // end
  }
}
