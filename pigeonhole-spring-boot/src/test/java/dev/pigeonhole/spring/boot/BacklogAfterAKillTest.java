package dev.pigeonhole.spring.boot;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.Inbox;
import dev.pigeonhole.Message;
import dev.pigeonhole.spring.InboxHandler;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.JavaProcess;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.annotation.Configuration;

/** What is shown of the backlog does not die with a process. */
class BacklogAfterAKillTest {
  private static final Duration LONG = Duration.ofMinutes(3);
  private static final int DONE = 3;
  private static final int MESSAGES = 10;

  record Order(int number) {}

  @Test
  void op09_afterAKillTheGaugeOfTheBacklogIsWhatTheTablesSay() {
    try (TestDatabase database = TestDatabases.open(DatabaseKind.POSTGRES)) {
      try (JavaProcess killed =
          JavaProcess.of(Killed.class)
              .args(database.jdbcUrl(), database.user(), database.password())
              .start()) {
        killed.awaitLine("all accepted", LONG);
        killed.kill9();
      }
      long open =
          database.count("SELECT count(*) FROM pigeonhole_delivery")
              + database.count("SELECT count(*) FROM pigeonhole_later");
      assertThat(open).isEqualTo(MESSAGES - DONE);

      try (WebApp next =
          WebApp.run(database, Handling.class, "pigeonhole.inbox.background-processing=false")) {
        double shown =
            next.bean(MeterRegistry.class).get("pigeonhole.inbox.deliveries").gauges().stream()
                .mapToDouble(Gauge::value)
                .sum();
        assertThat(shown).isEqualTo(open);
      }
    }
  }

  /** Handles the first of them, accepts the others, and waits to be killed. */
  static final class Killed {
    private Killed() {}

    public static void main(String[] args) throws InterruptedException {
      WebApp app =
          WebApp.run(
              TestDatabase.attach(args[0], args[1], args[2]),
              Handling.class,
              "pigeonhole.inbox.background-processing=false");
      Inbox inbox = app.bean(Inbox.class);
      for (int number = 0; number < MESSAGES; number++) {
        inbox.accept("orders", Message.of("m-" + number, new Order(number)));
        if (number < DONE) {
          inbox.drain();
        }
      }
      System.out.println("all accepted");
      new CountDownLatch(1).await();
    }
  }

  @Configuration(proxyBeanMethods = false)
  @EnableAutoConfiguration
  static class Handling {
    @InboxHandler(channel = "orders", key = "see")
    void see(Order order) {}
  }
}
