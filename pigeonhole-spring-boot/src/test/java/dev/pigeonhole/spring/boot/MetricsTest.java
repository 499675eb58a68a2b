package dev.pigeonhole.spring.boot;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.Inbox;
import dev.pigeonhole.Message;
import dev.pigeonhole.micrometer.InboxMetrics;
import dev.pigeonhole.micrometer.OutboxMetrics;
import dev.pigeonhole.micrometer.ProcessConvention;
import dev.pigeonhole.micrometer.RelayConvention;
import dev.pigeonhole.micrometer.StoredTraces;
import dev.pigeonhole.outbox.Outbox;
import dev.pigeonhole.spring.OutboxTemplate;
import dev.pigeonhole.spring.boot.AutoConfigurationTest.Order;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.observation.DefaultMeterObservationHandler;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.micrometer.observation.ObservationRegistry;
import io.micrometer.tracing.Tracer;
import io.micrometer.tracing.propagation.Propagator;
import org.junit.jupiter.api.Test;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

/** Meters come where there is somebody to keep them. */
class MetricsTest {

  private static ApplicationContextRunner runner() {
    return AutoConfigurationTest.runner()
        .withUserConfiguration(AutoConfigurationTest.Handling.class);
  }

  @Test
  void aRegistryOfMetersIsEnough() {
    runner()
        .withBean(SimpleMeterRegistry.class)
        .run(
            context -> {
              handle(context.getBean(Inbox.class));
              MeterRegistry registry = context.getBean(MeterRegistry.class);
              assertThat(registry.get("pigeonhole.inbox.accept").timer().count()).isEqualTo(1);
              assertThat(registry.get("pigeonhole.inbox.process").timer().count()).isEqualTo(1);
              assertThat(registry.get("pigeonhole.inbox.deliveries").gauges()).isNotEmpty();
            });
  }

  @Test
  void attemptsAreObservationsWhereThoseAreKept() {
    runner()
        .withBean(SimpleMeterRegistry.class)
        .withBean(ObservationRegistry.class, ObservationRegistry::create)
        .withPropertyValues("pigeonhole.observations.open-telemetry-names=true")
        .run(
            context -> {
              MeterRegistry registry = context.getBean(MeterRegistry.class);
              context
                  .getBean(ObservationRegistry.class)
                  .observationConfig()
                  .observationHandler(new DefaultMeterObservationHandler(registry));
              handle(context.getBean(Inbox.class));
              assertThat(registry.get("messaging.process.duration").timer().count()).isEqualTo(1);
            });
  }

  @Test
  void anOutboxHasItsOwn() {
    runner()
        .withUserConfiguration(AutoConfigurationTest.Publishing.class)
        .withBean(SimpleMeterRegistry.class)
        .withPropertyValues(
            "pigeonhole.outbox.enabled=true", "pigeonhole.outbox.background-processing=false")
        .run(
            context -> {
              assertThat(context).hasNotFailed().hasSingleBean(OutboxMetrics.class);
              context.getBean(Outbox.class).drain();
              assertThat(
                      context
                          .getBean(MeterRegistry.class)
                          .get("pigeonhole.outbox.messages")
                          .gauges())
                  .isNotEmpty();
            });
  }

  @Test
  void conventionsOfOnesOwnNameAttempts() {
    runner()
        .withUserConfiguration(AutoConfigurationTest.Publishing.class)
        .withBean(SimpleMeterRegistry.class)
        .withBean(OwnProcessNames.class)
        .withBean(OwnRelayNames.class)
        .withPropertyValues(
            "pigeonhole.outbox.enabled=true", "pigeonhole.outbox.background-processing=false")
        .run(
            context -> {
              handle(context.getBean(Inbox.class));
              new TransactionTemplate(context.getBean(PlatformTransactionManager.class))
                  .executeWithoutResult(
                      tx ->
                          context
                              .getBean(OutboxTemplate.class)
                              .publish(Message.of("m-1", new Order("o-1"))));
              context.getBean(Outbox.class).drain();
              MeterRegistry registry = context.getBean(MeterRegistry.class);
              assertThat(registry.get("shop.handle").timer().count()).isEqualTo(1);
              assertThat(registry.get("shop.send").timer().count()).isEqualTo(1);
            });
  }

  static final class OwnProcessNames implements ProcessConvention {
    @Override
    public String getName() {
      return "shop.handle";
    }
  }

  static final class OwnRelayNames implements RelayConvention {
    @Override
    public String getName() {
      return "shop.send";
    }
  }

  @Test
  void tracesAreKeptWithMessagesWhereThereIsATracer() {
    ApplicationContextRunner traced =
        runner()
            .withBean(Tracer.class, () -> Tracer.NOOP)
            .withBean(Propagator.class, () -> Propagator.NOOP);
    traced.run(
        context -> {
          assertThat(context)
              .hasNotFailed()
              .hasSingleBean(StoredTraces.class)
              .hasBean("pigeonholeTracingHandler");
          handle(context.getBean(Inbox.class));
        });
    runner()
        .withClassLoader(new FilteredClassLoader("io.micrometer.tracing"))
        .withBean(SimpleMeterRegistry.class)
        .run(
            context ->
                assertThat(context)
                    .hasNotFailed()
                    .hasSingleBean(InboxMetrics.class)
                    .doesNotHaveBean("pigeonholeStoredTraces"));
  }

  @Test
  void withoutRegistryOrLibraryThereAreNone() {
    runner().run(context -> assertThat(context).hasNotFailed().doesNotHaveBean(InboxMetrics.class));
    runner()
        .withClassLoader(new FilteredClassLoader("dev.pigeonhole.micrometer"))
        .withBean(SimpleMeterRegistry.class)
        .run(context -> assertThat(context).hasNotFailed().doesNotHaveBean("pigeonholeMetrics"));
    runner()
        .withClassLoader(new FilteredClassLoader("io.micrometer"))
        .run(context -> assertThat(context).hasNotFailed().hasSingleBean(Inbox.class));
  }

  private static void handle(Inbox inbox) {
    inbox.accept("orders", Message.of("m-1", new Order("o-1")));
    assertThat(inbox.drain()).isEqualTo(1);
  }
}
