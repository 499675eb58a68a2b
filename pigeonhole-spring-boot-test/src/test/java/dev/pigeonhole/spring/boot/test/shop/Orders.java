package dev.pigeonhole.spring.boot.test.shop;

import dev.pigeonhole.Message;
import dev.pigeonhole.spring.IdempotentMethod;
import dev.pigeonhole.spring.InboxTemplate;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.stereotype.Component;
import org.springframework.transaction.annotation.Transactional;

/** What people ask the shop for. */
@Component
class Orders {
  private final InboxTemplate inbox;
  private final JdbcTemplate jdbc;

  Orders(InboxTemplate inbox, JdbcTemplate jdbc) {
    this.inbox = inbox;
    this.jdbc = jdbc;
  }

  @Transactional
  public void place(Order order) {
    inbox.accept("orders", Message.of(order.id(), order));
  }

  @IdempotentMethod(handler = "charge", key = "#order.id")
  public void charge(Order order) {
    jdbc.update("INSERT INTO charged (order_id) VALUES (?)", order.id());
  }
}
