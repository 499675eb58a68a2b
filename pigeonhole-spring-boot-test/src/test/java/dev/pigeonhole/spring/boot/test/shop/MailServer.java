package dev.pigeonhole.spring.boot.test.shop;

import java.util.ArrayList;
import java.util.List;
import org.springframework.stereotype.Component;

/** Fails as often as it is told to. */
@Component
class MailServer {
  final List<String> sent = new ArrayList<>();
  int failures;

  void send(String text) {
    if (failures > 0) {
      failures--;
      throw new IllegalStateException("mail server is down");
    }
    sent.add(text);
  }
}
