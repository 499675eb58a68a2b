package dev.pigeonhole.spring.boot.test.shop;

import static dev.pigeonhole.testkit.TestInboxAssertions.assertThat;
import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.Message;
import dev.pigeonhole.spring.boot.test.InboxTest;
import dev.pigeonhole.testkit.TestInbox;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.context.annotation.Import;

/** A slice with one handler, in memory. */
// snippet:boot-inbox-test
@InboxTest(Mailer.class)
@Import(MailServer.class)
class MailerTest {
  @Autowired TestInbox inbox;
  @Autowired MailServer server;

  @Test
  void aReceiptIsSentAgainWhenTheMailServerIsBack() {
    server.failures = 1;

    inbox.receive("orders", Message.of("m-1", new Order("o-1")));
    inbox.drain();
    assertThat(inbox).delivery("m-1", "send-receipt").hasFailedTimes(1).isScheduled();

    inbox.advance(Duration.ofMinutes(1)).drain();
    assertThat(inbox).delivery("m-1", "send-receipt").isCompleted();
  }
}
// end
