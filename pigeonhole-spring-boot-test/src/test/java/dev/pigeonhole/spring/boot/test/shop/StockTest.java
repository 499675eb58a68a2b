package dev.pigeonhole.spring.boot.test.shop;

import static dev.pigeonhole.testkit.TestInboxAssertions.assertThat;
import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.Message;
import dev.pigeonhole.spring.boot.test.InboxTest;
import dev.pigeonhole.testkit.TestInbox;
import java.time.Duration;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.jdbc.test.autoconfigure.AutoConfigureJdbc;
import org.springframework.boot.jdbc.test.autoconfigure.AutoConfigureTestDatabase;
import org.springframework.jdbc.core.JdbcTemplate;

/** A slice with a transactional handler, on H2. */
// snippet:boot-inbox-test-jdbc
@InboxTest(Stock.class)
@AutoConfigureJdbc
@AutoConfigureTestDatabase
class StockTest {
  @Autowired TestInbox inbox;
  @Autowired JdbcTemplate jdbc;
  @Autowired Stock stock;

  @BeforeEach
  void empty() {
    jdbc.execute("DELETE FROM reserved"); // the tables of the inbox are emptied by themselves
  }

  @Test
  void whatAFailedAttemptHasWrittenIsGone() {
    stock.failTimes(1);

    inbox.receive("orders", Message.of("m-1", new Order("o-1")));
    inbox.drain();
    assertThat(jdbc.queryForList("SELECT order_id FROM reserved")).isEmpty();

    inbox.advance(Duration.ofMinutes(1)).drain();
    assertThat(inbox).delivery("m-1", "reserve-stock").isCompleted().hasAttempts(2);
    assertThat(jdbc.queryForList("SELECT order_id FROM reserved")).hasSize(1);
  }
}
// end
