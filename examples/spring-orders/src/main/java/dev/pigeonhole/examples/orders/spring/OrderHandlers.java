package dev.pigeonhole.examples.orders.spring;

import dev.pigeonhole.spring.InboxHandler;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.stereotype.Component;
import org.springframework.transaction.annotation.Transactional;

/**
 * What happens to an order after it was taken. Each handler has its own retries; because they are
 * {@code @Transactional}, what they write commits with their receipt: once for each order.
 */
@Component
class OrderHandlers {
  private final Invoices invoices;
  private final JdbcTemplate jdbc;

  OrderHandlers(Invoices invoices, JdbcTemplate jdbc) {
    this.invoices = invoices;
    this.jdbc = jdbc;
  }

  // snippet:spring-two-handlers
  @InboxHandler(channel = "orders", key = "write-invoice")
  @Transactional
  public void invoice(Order order) {
    invoices.save(new Invoice(order.id(), order.cents())); // JPA
  }

  @InboxHandler(channel = "orders", key = "reserve-stock")
  @Transactional
  public void reserve(Order order) {
    jdbc.update("INSERT INTO reservation (order_id) VALUES (?)", order.id());
  }
  // end
}
