package dev.pigeonhole.spring.boot.test.shop;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.Message;
import dev.pigeonhole.admin.Count;
import dev.pigeonhole.outbox.Outbox;
import dev.pigeonhole.spring.OutboxTemplate;
import dev.pigeonhole.spring.PigeonholeLifecycle;
import dev.pigeonhole.spring.boot.OutboxCustomizer;
import dev.pigeonhole.spring.boot.test.AutoConfigureInbox;
import dev.pigeonhole.testkit.MemoryQueue;
import java.util.List;
import org.junit.jupiter.api.RepeatedTest;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.jdbc.test.autoconfigure.AutoConfigureTestDatabase;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.context.TestConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Import;
import org.springframework.transaction.support.TransactionTemplate;

/** What an outbox of a whole application does under test. */
@SpringBootTest(properties = "pigeonhole.outbox.enabled=true")
@AutoConfigureInbox
@AutoConfigureTestDatabase
@Import(OutboxTest.Routes.class)
class OutboxTest {
  @Autowired Outbox outbox;
  @Autowired OutboxTemplate template;
  @Autowired TransactionTemplate transaction;
  @Autowired MemoryQueue queue;
  @Autowired List<PigeonholeLifecycle> lifecycles;

  /** Whatever the one before has left, this one does not see: the second fails if it does. */
  @RepeatedTest(2)
  void nothingIsSentByItselfAndNothingIsSeenByTheNextTest() {
    assertThat(outbox.admin().messages().count()).isEqualTo(Count.of(0));
    assertThat(lifecycles).hasSize(2).noneMatch(PigeonholeLifecycle::isRunning);

    int before = queue.size();
    publish("o-1");
    assertThat(outbox.drain()).isEqualTo(1);
    assertThat(queue.size()).isEqualTo(before + 1);
    publish("o-2");
    assertThat(outbox.admin().messages().count()).isEqualTo(Count.of(2));
  }

  private void publish(String id) {
    transaction.executeWithoutResult(status -> template.publish(Message.of(id, new Order(id))));
  }

  @TestConfiguration(proxyBeanMethods = false)
  static class Routes {
    @Bean
    MemoryQueue queue() {
      return MemoryQueue.named("placed");
    }

    @Bean
    OutboxCustomizer routes(MemoryQueue queue) {
      return outbox -> outbox.route(Order.class, queue.transport());
    }
  }
}
