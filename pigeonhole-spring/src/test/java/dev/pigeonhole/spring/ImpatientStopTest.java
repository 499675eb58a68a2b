package dev.pigeonhole.spring;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.Inbox;
import dev.pigeonhole.jdbc.JdbcStore;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.TestDatabases;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.support.DefaultLifecycleProcessor;
import org.springframework.transaction.PlatformTransactionManager;

/** A context that waits for less time than an inbox takes to stop. */
class ImpatientStopTest {

  /** Needed by the inbox and ended with the context, as a DataSource is. */
  static class Needed implements DisposableBean {
    final CountDownLatch gone = new CountDownLatch(1);
    volatile BooleanSupplier running = () -> false;
    volatile boolean stillNeeded;

    @Override
    public void destroy() {
      stillNeeded = running.getAsBoolean();
      gone.countDown();
    }
  }

  static class Slow {
    private final Needed needed;
    final CountDownLatch began = new CountDownLatch(1);

    Slow(Needed needed) {
      this.needed = needed;
    }

    @InboxHandler(channel = "orders", key = "reserve-stock")
    void reserve(OrderPlaced order) throws InterruptedException {
      began.countDown();
      needed.gone.await();
    }
  }

  @Configuration(proxyBeanMethods = false)
  static class Impatient {
    @Bean
    static DefaultLifecycleProcessor lifecycleProcessor() {
      DefaultLifecycleProcessor processor = new DefaultLifecycleProcessor();
      processor.setTimeoutPerShutdownPhase(1);
      return processor;
    }

    @Bean
    Needed needed() {
      return new Needed();
    }

    @Bean
    Inbox inbox(SpringInboxes inboxes, JdbcStore store, PlatformTransactionManager manager) {
      return inboxes.on(store, manager).named("shop").stopGrace(Duration.ofSeconds(2)).build();
    }

    @Bean
    PigeonholeLifecycle running(Inbox inbox, Needed needed) {
      return PigeonholeLifecycle.of(inbox.name(), inbox::start);
    }
  }

  @Test
  void whatAnInboxNeedsIsThereUntilItHasStopped() throws Exception {
    try (World world = new World(TestDatabases.open(DatabaseKind.H2))) {
      world.with(World.Basics.class, World.Jdbc.class, Impatient.class, Slow.class).start();
      Needed needed = world.bean(Needed.class);
      needed.running = world.bean(PigeonholeLifecycle.class)::isRunning;
      world.inbox().accept("orders", World.order(1));
      world.bean(Slow.class).began.await();

      world.context.close();

      assertThat(needed.stillNeeded).isFalse();
    }
  }
}
