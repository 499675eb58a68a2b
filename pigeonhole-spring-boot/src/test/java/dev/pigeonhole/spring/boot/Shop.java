package dev.pigeonhole.spring.boot;

import dev.pigeonhole.Message;
import dev.pigeonhole.spring.IdempotentMethod;
import dev.pigeonhole.spring.InboxHandler;
import dev.pigeonhole.spring.InboxTemplate;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.transaction.annotation.Transactional;

/** An application as somebody would write it: two beans, no word of configuration. */
@Configuration(proxyBeanMethods = false)
@EnableAutoConfiguration
class Shop {

  record Order(String id) {}

  record Receipt(String order, int number) {}

  @Bean
  Orders orders(InboxTemplate inbox, JdbcTemplate jdbc) {
    return new Orders(inbox, jdbc);
  }

  @Bean
  Stock stock(JdbcTemplate jdbc) {
    return new Stock(jdbc);
  }

  static class Orders {
    private final InboxTemplate inbox;
    private final JdbcTemplate jdbc;

    Orders(InboxTemplate inbox, JdbcTemplate jdbc) {
      this.inbox = inbox;
      this.jdbc = jdbc;
    }

    @Transactional
    public void place(Order order, boolean fail) {
      jdbc.update("INSERT INTO orders (id) VALUES (?)", order.id());
      inbox.accept("orders", Message.of(order.id(), order));
      if (fail) {
        throw new IllegalStateException("changed my mind");
      }
    }

    @IdempotentMethod(handler = "charge", key = "#order.id")
    public Receipt charge(Order order) {
      jdbc.update("INSERT INTO charged (order_id) VALUES (?)", order.id());
      return new Receipt(order.id(), 7);
    }
  }

  static class Stock {
    private final JdbcTemplate jdbc;

    Stock(JdbcTemplate jdbc) {
      this.jdbc = jdbc;
    }

    @InboxHandler(channel = "orders", key = "reserve-stock")
    @Transactional
    public void reserve(Order order) {
      jdbc.update("INSERT INTO reserved (order_id) VALUES (?)", order.id());
    }
  }
}
