package dev.pigeonhole.spring.boot.test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.pigeonhole.spring.IdempotentMethod;
import dev.pigeonhole.spring.InboxHandler;
import dev.pigeonhole.spring.boot.PigeonholeAutoConfiguration;
import dev.pigeonhole.testkit.TestClock;
import dev.pigeonhole.testkit.TestInbox;
import java.time.Clock;
import java.time.InstantSource;
import org.junit.jupiter.api.Test;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.transaction.annotation.Transactional;

/** What is said when a test cannot have what it asks for, and what is not taken from it. */
class RefusedTest {

  @Test
  void aTransactionalHandlerIsRefusedInMemory() {
    runner()
        .withUserConfiguration(Transacting.class)
        .run(
            context ->
                assertThat(context)
                    .getFailure()
                    .rootCause()
                    .hasMessageStartingWith("PH-TX-07: Handler method ")
                    .hasMessageContaining("RefusedTest$Transacting")
                    .hasMessageContaining("@AutoConfigureJdbc"));
  }

  @Test
  void aMethodThatRunsOnceIsRefusedInMemory() {
    runner()
        .withUserConfiguration(Guarding.class)
        .run(
            context ->
                assertThat(context)
                    .getFailure()
                    .hasMessageStartingWith("PH-SPR-02: Idempotent method charge(String)")
                    .hasMessageContaining("a DataSource is enough"));
  }

  @Test
  void aTestWithoutHandlersIsToldHowToNameThem() {
    runner()
        .run(
            context ->
                assertThatThrownBy(() -> context.getBean(TestInbox.class).drain())
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("@InboxTest(Mailer.class)"));
  }

  @Test
  void theClockOfAnApplicationIsNotReplacedByThatOfTheTest() {
    runner()
        .withUserConfiguration(Timing.class)
        .run(
            context -> {
              assertThat(context).hasNotFailed();
              assertThat(context.getBean(InstantSource.class)).isNotInstanceOf(TestClock.class);
              assertThat(context).hasSingleBean(TestClock.class);
            });
  }

  @Test
  void aBeanThatTakesAClockHasThatOfTheTestWhereThereIsNoOther() {
    runner()
        .withBean(Timed.class)
        .run(
            context ->
                assertThat(context.getBean(Timed.class).clock)
                    .isSameAs(context.getBean(TestClock.class)));
  }

  private static ApplicationContextRunner runner() {
    return new ApplicationContextRunner()
        .withConfiguration(
            AutoConfigurations.of(
                PigeonholeAutoConfiguration.class, TestInboxAutoConfiguration.class))
        .withPropertyValues("pigeonhole.inbox.background-processing=false");
  }

  @Configuration(proxyBeanMethods = false)
  static class Transacting {
    @InboxHandler(channel = "orders", key = "transact")
    @Transactional
    public void handle(String order) {}
  }

  static class Timed {
    final InstantSource clock;

    Timed(InstantSource clock) {
      this.clock = clock;
    }
  }

  @Configuration(proxyBeanMethods = false)
  static class Guarding {
    @IdempotentMethod(handler = "charge", key = "#order")
    public void charge(String order) {}
  }

  @Configuration(proxyBeanMethods = false)
  static class Timing {
    @Bean
    InstantSource time() {
      return Clock.systemUTC();
    }
  }
}
