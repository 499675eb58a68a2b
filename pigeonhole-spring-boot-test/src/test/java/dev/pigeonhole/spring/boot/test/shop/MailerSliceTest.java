package dev.pigeonhole.spring.boot.test.shop;

import static dev.pigeonhole.testkit.TestInboxAssertions.assertThat;
import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.Acceptance;
import dev.pigeonhole.Message;
import dev.pigeonhole.spring.boot.test.InboxTest;
import dev.pigeonhole.store.InboxStore;
import dev.pigeonhole.testkit.MemoryStore;
import dev.pigeonhole.testkit.TestClock;
import dev.pigeonhole.testkit.TestInbox;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import javax.sql.DataSource;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.springframework.amqp.rabbit.connection.ConnectionFactory;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.context.ApplicationContext;
import org.springframework.context.annotation.Import;

/** What is in a slice, and what is not; in memory. */
@InboxTest(Mailer.class)
@Import(MailServer.class)
class MailerSliceTest {
  @Autowired TestInbox inbox;
  @Autowired MailServer server;
  @Autowired TestClock clock;
  @Autowired ApplicationContext context;

  @BeforeEach
  void nothingIsSentYet() {
    server.sent.clear();
  }

  /** Whatever the one before has left, this one does not see: the second fails if it does. */
  @RepeatedTest(2)
  void aMessageIsNotSeenByTheNextTest() {
    assertThat(inbox.deliveries()).isEmpty();
    assertThat(inbox.inbox().admin().paused()).isEmpty();
    server.failures = 3;

    assertThat(inbox.receive("orders", Message.of("m-1", new Order("o-1"))))
        .isInstanceOf(Acceptance.Accepted.class);
    for (int attempt = 1; attempt <= 3; attempt++) {
      inbox.drain();
      inbox.advance(Duration.ofMinutes(5));
    }
    assertThat(inbox).delivery("m-1", "send-receipt").isPoisoned();
    inbox.receive("orders", Message.of("m-2", new Order("o-2")));
    inbox.inbox().admin().pause("send-receipt", "left so");
  }

  @Test
  void theClockOfTheTestIsThatOfTheInbox() {
    Instant before = clock.now();
    server.failures = 1;
    inbox.receive("orders", Message.of("m-1", new Order("o-1")));
    inbox.drain();

    clock.advance(Duration.ofSeconds(59));
    assertThat(inbox.drain()).isZero();
    clock.advance(Duration.ofSeconds(1));
    assertThat(inbox.drain()).isEqualTo(1);

    assertThat(server.sent).containsExactly("Thank you for o-1");
    assertThat(inbox.clock().now()).isEqualTo(before.plusSeconds(60));
  }

  @Test
  void nothingElseOfTheApplicationIsThere() {
    assertThat(context.getBeanProvider(Mailer.class).stream()).hasSize(1);
    assertThat(context.getBean(InboxStore.class)).isInstanceOf(MemoryStore.class);
    for (Class<?> absent :
        List.of(Stock.class, Orders.class, DataSource.class, ConnectionFactory.class)) {
      assertThat(context.getBeanProvider(absent).stream()).isEmpty();
    }
    assertThat(context.getBeanDefinitionNames()).noneMatch(name -> name.contains("WebServer"));
  }
}
