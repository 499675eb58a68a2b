package dev.pigeonhole.examples.orders.spring;

import dev.pigeonhole.Message;
import dev.pigeonhole.spring.IdempotentMethod;
import dev.pigeonhole.spring.OutboxTemplate;
import org.springframework.http.ResponseEntity;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.transaction.annotation.Transactional;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RestController;

/** Takes orders over HTTP, and tells how far they have come. */
@RestController
class OrderController {
  private final JdbcTemplate jdbc;
  private final OutboxTemplate outbox;

  OrderController(JdbcTemplate jdbc, OutboxTemplate outbox) {
    this.jdbc = jdbc;
    this.outbox = outbox;
  }

  /** The answer to a client who asks again is that of the first time, and nothing is done twice. */
  record Placed(String id) {}

  record Counts(long orders, long invoices, long reservations) {}

  /**
   * The row, the message and the receipt of the order's id commit together, or not at all. So a
   * client that got no answer just sends the order again.
   */
  // snippet:spring-place-order
  @PostMapping("/orders")
  @Transactional
  @IdempotentMethod(handler = "place-order", key = "#order.id", request = "#order")
  public ResponseEntity<Placed> place(@RequestBody Order order) {
    jdbc.update("INSERT INTO orders (id, customer) VALUES (?, ?)", order.id(), order.customer());
    outbox.publish(Message.of(order.id(), order));
    return ResponseEntity.accepted().body(new Placed(order.id()));
  }

  // end

  @GetMapping("/orders")
  Counts counts() {
    return new Counts(count("orders"), count("invoice"), count("reservation"));
  }

  private long count(String table) {
    Long rows = jdbc.queryForObject("SELECT count(*) FROM " + table, Long.class);
    return rows == null ? 0 : rows;
  }
}
