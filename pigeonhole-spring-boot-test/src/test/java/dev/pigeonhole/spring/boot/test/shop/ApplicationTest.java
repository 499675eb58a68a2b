package dev.pigeonhole.spring.boot.test.shop;

import static dev.pigeonhole.testkit.TestInboxAssertions.assertThat;
import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.Channel;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.Message;
import dev.pigeonhole.admin.Count;
import dev.pigeonhole.jdbc.JdbcStore;
import dev.pigeonhole.jdbc.Schema;
import dev.pigeonhole.spring.PigeonholeLifecycle;
import dev.pigeonhole.spring.boot.test.AutoConfigureInbox;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.testkit.TestInbox;
import java.time.Duration;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.context.annotation.Import;

/** What an inbox of a whole application does under test. */
@SpringBootTest
@AutoConfigureInbox
@Import(PostgresShop.class) // a server with connection details, as @ServiceConnection makes them
class ApplicationTest {
  @Autowired Orders orders;
  @Autowired TestInbox inbox;
  @Autowired Stock stock;
  @Autowired MailServer server;
  @Autowired TestDatabase postgres;
  @Autowired PigeonholeLifecycle lifecycle;

  @BeforeEach
  void empty() {
    postgres.execute("DELETE FROM reserved");
    postgres.execute("DELETE FROM charged");
    server.sent.clear();
  }

  @Test
  void nothingRunsByItselfAndTimeMovesWhenItIsTold() {
    stock.failTimes(1);
    orders.place(new Order("o-1"));
    assertThat(lifecycle.isRunning()).isFalse();

    assertThat(inbox.drain()).isEqualTo(2);
    assertThat(count("reserved")).isZero();
    assertThat(inbox.advance(Duration.ofSeconds(59)).drain()).isZero();
    assertThat(inbox.advance(Duration.ofSeconds(1)).drain()).isEqualTo(1);
    assertThat(count("reserved")).isEqualTo(1);
  }

  @RepeatedTest(2)
  void neitherMessagesNorReceiptsOfGuardsAreSeenByTheNextTest() {
    assertThat(inbox.deliveries()).isEmpty();

    orders.place(new Order("o-1"));
    orders.charge(new Order("o-1"));
    orders.charge(new Order("o-1"));
    assertThat(count("charged")).isEqualTo(1);
    assertThat(count("pigeonhole_test_receipt WHERE completed_at > '2029-12-31'"))
        .as("by the clock of the test")
        .isEqualTo(1);
    assertThat(inbox.drain()).isEqualTo(2);
    orders.place(new Order("o-2"));
    inbox.inbox().admin().pause("send-receipt", "left so");
  }

  /** What the application itself has in this database is neither handled nor deleted. */
  @RepeatedTest(2)
  void theTablesOfTheApplicationAreLeftAlone() {
    Schema.migrate(postgres.dataSource());
    Inbox running =
        Inbox.on(JdbcStore.of(postgres.dataSource()))
            .channel(
                Channel.named("orders").on(String.class).handle("send-receipt", it -> {}).build())
            .build();
    running.accept("orders", Message.of("kept", "of the application"));

    assertThat(inbox.drain()).isZero();
    assertThat(running.admin().messages().count()).isEqualTo(Count.of(1));
    assertThat(running.find("orders", "kept", "send-receipt")).isPresent();
  }

  private long count(String table) {
    return postgres.count("SELECT count(*) FROM " + table);
  }
}
