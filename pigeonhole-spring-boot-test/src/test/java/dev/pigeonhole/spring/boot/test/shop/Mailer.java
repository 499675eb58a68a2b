package dev.pigeonhole.spring.boot.test.shop;

import dev.pigeonhole.spring.InboxHandler;
import org.springframework.stereotype.Component;

/** Bears repeats, so it needs no database. */
@Component
class Mailer {
  private final MailServer server;

  Mailer(MailServer server) {
    this.server = server;
  }

  @InboxHandler(channel = "orders", key = "send-receipt")
  void send(Order order) {
    server.send("Thank you for " + order.id());
  }
}
