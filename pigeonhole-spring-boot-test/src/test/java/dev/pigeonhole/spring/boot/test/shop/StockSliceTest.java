package dev.pigeonhole.spring.boot.test.shop;

import static dev.pigeonhole.testkit.TestInboxAssertions.assertThat;
import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.Acceptance;
import dev.pigeonhole.Message;
import dev.pigeonhole.spring.boot.test.InboxTest;
import dev.pigeonhole.testkit.TestInbox;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.RepeatedTest;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.jdbc.test.autoconfigure.AutoConfigureJdbc;
import org.springframework.boot.jdbc.test.autoconfigure.AutoConfigureTestDatabase;
import org.springframework.jdbc.core.JdbcTemplate;

/** What a slice with a database forgets. */
@InboxTest(Stock.class)
@AutoConfigureJdbc
@AutoConfigureTestDatabase
class StockSliceTest {
  @Autowired TestInbox inbox;
  @Autowired JdbcTemplate jdbc;

  @BeforeEach
  void empty() {
    jdbc.execute("DELETE FROM reserved");
  }

  @RepeatedTest(2)
  void aMessageIsNotSeenByTheNextTest() {
    assertThat(inbox.deliveries()).isEmpty();

    assertThat(inbox.receive("orders", Message.of("m-1", new Order("o-1"))))
        .isInstanceOf(Acceptance.Accepted.class);
    assertThat(inbox.drain()).isEqualTo(1);
    inbox.receive("orders", Message.of("m-2", new Order("o-2")));
  }
}
