package dev.pigeonhole.spring.boot;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.Inbox;
import dev.pigeonhole.Message;
import dev.pigeonhole.spring.InboxHandler;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.junit.jupiter.api.Test;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.transaction.annotation.Transactional;

/** Transactions of Spring are bound to threads, and threads may be virtual. */
class VirtualThreadsTest {
  private static final Duration LONG = Duration.ofMinutes(2);
  private static final int MESSAGES = 20;

  record Order(String id) {}

  @Test
  void jd11_aTransactionIsKeptOnVirtualThreadsToo() {
    try (TestDatabase database = TestDatabases.open(DatabaseKind.POSTGRES)) {
      database.execute("CREATE TABLE note (order_id VARCHAR(20) NOT NULL)");
      try (WebApp app =
          WebApp.run(
              database,
              Handling.class,
              "spring.threads.virtual.enabled=true",
              "pigeonhole.inbox.retry.initial-delay=10ms",
              "pigeonhole.inbox.polling.min=10ms")) {
        for (int number = 0; number < MESSAGES; number++) {
          app.bean(Inbox.class)
              .accept("orders", Message.of("m-" + number, new Order("o-" + number)));
        }
        Eventually.until(
            LONG, () -> database.count("SELECT count(DISTINCT order_id) FROM note") == MESSAGES);
        assertThat(app.bean(Notes.class).threads())
            .allMatch(
                each -> each.startsWith("VirtualThread") == Runtime.version().feature() >= 21);
      }
      assertThat(database.count("SELECT count(*) FROM note"))
          .as("what a first attempt wrote is rolled back")
          .isEqualTo(MESSAGES);
    }
  }

  @Configuration(proxyBeanMethods = false)
  @EnableAutoConfiguration
  static class Handling {
    @Bean
    Notes notes(JdbcTemplate jdbc) {
      return new Notes(jdbc);
    }
  }

  static class Notes {
    private final Set<String> threads = ConcurrentHashMap.newKeySet();
    private final Set<String> tried = ConcurrentHashMap.newKeySet();
    private final JdbcTemplate jdbc;

    Notes(JdbcTemplate jdbc) {
      this.jdbc = jdbc;
    }

    /** A method, because a proxy has fields of its own. */
    Set<String> threads() {
      return threads;
    }

    @InboxHandler(channel = "orders", key = "note")
    @Transactional
    public void note(Order order) {
      jdbc.update("INSERT INTO note (order_id) VALUES (?)", order.id());
      threads.add(Thread.currentThread().toString());
      if (tried.add(order.id())) {
        throw new IllegalStateException("the first attempt always fails");
      }
    }
  }
}
