package dev.pigeonhole.spring.boot.test.shop;

import static dev.pigeonhole.testkit.TestInboxAssertions.assertThat;
import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.spring.boot.test.AutoConfigureInbox;
import dev.pigeonhole.testkit.TestInbox;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.context.annotation.Import;

/** The whole application, on the server of the test, and its inbox in hand. */
// snippet:boot-application-test
@SpringBootTest
@AutoConfigureInbox
@Import(PostgresShop.class) // a server with connection details, as @ServiceConnection makes them
class ShopTest {
  @Autowired Orders orders;
  @Autowired TestInbox inbox;

  @Test
  void aPlacedOrderIsReservedAndReceiptsAreSent() {
    orders.place(new Order("o-1"));
    inbox.drain();

    assertThat(inbox).delivery("o-1", "reserve-stock").isCompleted();
    assertThat(inbox).delivery("o-1", "send-receipt").isCompleted();
  }
}
// end
