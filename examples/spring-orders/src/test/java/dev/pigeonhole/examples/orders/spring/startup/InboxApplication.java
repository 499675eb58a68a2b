package dev.pigeonhole.examples.orders.spring.startup;

import dev.pigeonhole.spring.InboxHandler;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.annotation.Configuration;
import org.springframework.transaction.annotation.Transactional;

/** The same with the starter and two handlers. */
@Configuration(proxyBeanMethods = false)
@EnableAutoConfiguration
class InboxApplication {

  record Order(String id) {}

  public static void main(String[] args) {
    SpringApplication.run(InboxApplication.class, args);
  }

  @InboxHandler(channel = "orders", key = "write-invoice")
  @Transactional
  public void invoice(Order order) {}

  @InboxHandler(channel = "orders", key = "reserve-stock")
  @Transactional
  public void reserve(Order order) {}
}
