package dev.pigeonhole.spring.boot.test.shop;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.Message;
import dev.pigeonhole.spring.PigeonholeLifecycle;
import dev.pigeonhole.spring.boot.test.InboxTest;
import dev.pigeonhole.testkit.TestInbox;
import java.util.List;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.context.annotation.Import;

/** Nothing happens unless the test does it. */
@InboxTest(handlers = Mailer.class, properties = "pigeonhole.inbox.name=quiet")
@Import(MailServer.class)
@TestMethodOrder(MethodOrderer.MethodName.class) // the second looks for what the first has left
class QuietTest {
  @Autowired TestInbox inbox;
  @Autowired MailServer server;
  @Autowired PigeonholeLifecycle lifecycle;

  @Test
  void aTestThatWantsThreadsHasThem() {
    inbox.start();
    inbox.receive("orders", Message.of("m-1", new Order("o-1")));
    inbox.awaitDrained();

    assertThat(server.sent).containsExactly("Thank you for o-1");
    assertThat(threads()).isNotEmpty();
  }

  @Test
  void noThreadIsAliveUnlessTheTestHasStartedIt() {
    inbox.receive("orders", Message.of("m-2", new Order("o-2")));
    assertThat(inbox.drain()).isEqualTo(1);

    assertThat(server.sent).contains("Thank you for o-2");
    assertThat(lifecycle.isRunning()).isFalse();
    // Those of the test before may still be on their way out.
    inbox.await("no thread to be there", () -> threads().isEmpty());
  }

  private static List<String> threads() {
    return Thread.getAllStackTraces().keySet().stream()
        .map(Thread::getName)
        .filter(name -> name.startsWith("pigeonhole-quiet"))
        .toList();
  }
}
