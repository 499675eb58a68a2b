package dev.pigeonhole.spring.boot.test.shop;

import dev.pigeonhole.spring.InboxHandler;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.stereotype.Component;
import org.springframework.transaction.annotation.Transactional;

/** What it writes commits with its receipt. */
@Component
class Stock {
  private final JdbcTemplate jdbc;
  int failures;

  Stock(JdbcTemplate jdbc) {
    this.jdbc = jdbc;
  }

  @InboxHandler(channel = "orders", key = "reserve-stock")
  @Transactional
  public void reserve(Order order) {
    jdbc.update("INSERT INTO reserved (order_id) VALUES (?)", order.id());
    if (failures > 0) {
      failures--;
      throw new IllegalStateException("second thoughts");
    }
  }

  /** A bean may be called through a proxy, which has fields of its own. */
  public void failTimes(int times) {
    failures = times;
  }
}
