package dev.pigeonhole.spring.boot.test.shop;

import static dev.pigeonhole.testkit.TestInboxAssertions.assertThat;

import dev.pigeonhole.Message;
import dev.pigeonhole.spring.boot.test.InboxTest;
import dev.pigeonhole.testkit.TestInbox;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.context.annotation.Import;

/** An application that has an outbox, of which a slice in memory knows nothing. */
@InboxTest(value = Mailer.class, properties = "pigeonhole.outbox.enabled=true")
@Import(MailServer.class)
class MailerOfPublisherTest {
  @Autowired TestInbox inbox;

  @Test
  void handlersThatPublishNothingNeedNoDatabase() {
    inbox.receive("orders", Message.of("m-1", new Order("o-1")));
    inbox.drain();

    assertThat(inbox).delivery("m-1", "send-receipt").isCompleted();
  }
}
