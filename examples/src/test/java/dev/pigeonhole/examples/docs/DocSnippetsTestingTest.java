package dev.pigeonhole.examples.docs;

import static dev.pigeonhole.HandlerOption.inline;
import static dev.pigeonhole.testkit.TestInboxAssertions.assertThat;
import static java.time.Duration.ofSeconds;

import com.zaxxer.hikari.HikariDataSource;
import dev.pigeonhole.Acceptance;
import dev.pigeonhole.Channel;
import dev.pigeonhole.Guard;
import dev.pigeonhole.GuardKey;
import dev.pigeonhole.Guarded;
import dev.pigeonhole.RetryPolicy;
import dev.pigeonhole.admin.DeliveryState;
import dev.pigeonhole.examples.docs.Shop.Mailer;
import dev.pigeonhole.examples.docs.Shop.OrderPlaced;
import dev.pigeonhole.examples.docs.Shop.Stock;
import dev.pigeonhole.jdbc.JdbcStore;
import dev.pigeonhole.jdbc.Schema;
import dev.pigeonhole.store.InboxStore;
import dev.pigeonhole.tck.InboxStoreContract;
import dev.pigeonhole.testkit.CrashPlan;
import dev.pigeonhole.testkit.MemoryStore;
import dev.pigeonhole.testkit.TestClock;
import dev.pigeonhole.testkit.TestInbox;
import dev.pigeonhole.testkit.TestInboxExtension;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.InstantSource;
import java.util.UUID;
import org.assertj.core.api.Assertions;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
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
  class OnH2 {
    private final Stock stock = new Stock();

    // snippet:test-h2
    private final HikariDataSource h2 = new HikariDataSource();
    private final TestClock clock = new TestClock();

    @BeforeEach
    void open() {
      h2.setJdbcUrl("jdbc:h2:mem:" + UUID.randomUUID()); // gone when the pool is closed
      h2.setMaximumPoolSize(20); // each stored transactional handler needs 8 of them
      Schema.migrate(h2);
    }

    @AfterEach
    void close() {
      h2.close();
    }

    // end

    private void create() throws SQLException {
      try (Connection connection = h2.getConnection();
          Statement statement = connection.createStatement()) {
        statement.execute("CREATE TABLE reservation (order_id VARCHAR(50) NOT NULL)");
      }
    }

    // snippet:test-inline
    @Test
    void anInlineHandlerRunsOnceHoweverOftenItsMessageComes() throws SQLException {
      create(); // the table that the handler writes to
      Channel orders =
          Channel.named("orders")
              .on(OrderPlaced.class)
              .handleInTransaction(
                  "reserve-stock", (order, tx) -> stock.reserve(tx.connection(), order), inline())
              .build();
      TestInbox inbox = TestInbox.on(JdbcStore.of(h2).clock(clock), clock, orders);
      OrderPlaced order = new OrderPlaced("o-1", "c-1");

      Acceptance first = inbox.receive("m-1", order);
      Acceptance second = inbox.receive("m-1", order);

      Assertions.assertThat(first).isInstanceOf(Acceptance.Accepted.class);
      Assertions.assertThat(second).isInstanceOf(Acceptance.Repeat.class);
      assertThat(inbox).delivery("m-1", "reserve-stock").isCompleted();
    }

    // end

    // snippet:test-unfinished
    @Test
    void anInlineHandlerThatFailsLeavesItsMessageUnfinished() {
      Channel orders =
          Channel.named("orders")
              .on(OrderPlaced.class)
              .handle("send-receipt", mailer::sendReceipt, inline())
              .build();
      TestInbox inbox = TestInbox.on(JdbcStore.of(h2).clock(clock), clock, orders);
      OrderPlaced order = new OrderPlaced("o-1", "c-1");
      mailer.failTimes(1);

      Acceptance.Unfinished first = (Acceptance.Unfinished) inbox.receive("m-1", order);
      Acceptance second = inbox.receive("m-1", order); // what a broker does

      Assertions.assertThat(first.failures()).containsOnlyKeys("send-receipt");
      Assertions.assertThat(second).isInstanceOf(Acceptance.Accepted.class);
    }

    // end

    // snippet:test-guard
    @Test
    void aGuardRunsOnce() throws SQLException {
      create();
      OrderPlaced order = new OrderPlaced("o-1", "c-1");
      GuardKey key = GuardKey.of("reserve-stock", OrderPlaced.class, order.order());
      try (Guard guard = Guard.on(JdbcStore.of(h2)).build()) {
        for (int copy = 1; copy <= 2; copy++) {
          Guarded<String> result =
              guard.run(
                  key,
                  tx -> {
                    stock.reserve(tx.connection(), order);
                    return "reserved";
                  });
          Assertions.assertThat(result instanceof Guarded.Ran).isEqualTo(copy == 1);
        }
      }
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
