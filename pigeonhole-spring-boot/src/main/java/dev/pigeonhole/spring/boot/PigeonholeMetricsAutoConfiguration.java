package dev.pigeonhole.spring.boot;

import dev.pigeonhole.Inbox;
import dev.pigeonhole.micrometer.InboxMetrics;
import dev.pigeonhole.micrometer.OutboxMetrics;
import dev.pigeonhole.micrometer.ProcessConvention;
import dev.pigeonhole.micrometer.ProcessObservations;
import dev.pigeonhole.micrometer.RelayConvention;
import dev.pigeonhole.micrometer.RelayObservations;
import dev.pigeonhole.micrometer.StoredTraces;
import dev.pigeonhole.outbox.Outbox;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationRegistry;
import io.micrometer.tracing.Tracer;
import io.micrometer.tracing.handler.TracingObservationHandler;
import io.micrometer.tracing.propagation.Propagator;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnSingleCandidate;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.Order;

/**
 * Meters where there is a registry of meters, observations and traces where there is one of those.
 */
@AutoConfiguration(
    after = {PigeonholeAutoConfiguration.class, PigeonholeOutboxAutoConfiguration.class},
    afterName = {
      "org.springframework.boot.micrometer.metrics.autoconfigure.MetricsAutoConfiguration",
      "org.springframework.boot.micrometer.metrics.autoconfigure.CompositeMeterRegistryAutoConfiguration",
      "org.springframework.boot.micrometer.observation.autoconfigure.ObservationAutoConfiguration",
      "org.springframework.boot.micrometer.tracing.autoconfigure.MicrometerTracingAutoConfiguration",
      "org.springframework.boot.micrometer.tracing.autoconfigure.NoopTracerAutoConfiguration",
      "org.springframework.boot.micrometer.tracing.brave.autoconfigure.BraveAutoConfiguration",
      "org.springframework.boot.micrometer.tracing.opentelemetry.autoconfigure.OpenTelemetryTracingAutoConfiguration"
    })
@ConditionalOnClass({InboxMetrics.class, MeterRegistry.class, ObservationRegistry.class})
@ConditionalOnBean(PigeonholeProperties.class)
public final class PigeonholeMetricsAutoConfiguration {

  PigeonholeMetricsAutoConfiguration() {}

  @Configuration(proxyBeanMethods = false)
  @ConditionalOnSingleCandidate(MeterRegistry.class)
  static class InboxMeters {

    @Bean
    @ConditionalOnMissingBean
    InboxMetrics pigeonholeMetrics(MeterRegistry registry) {
      return InboxMetrics.to(registry);
    }

    @Bean
    @Order(Ordered.HIGHEST_PRECEDENCE)
    InboxCustomizer pigeonholeInboxMeters(InboxMetrics metrics) {
      return inbox -> inbox.listener(metrics);
    }

    @Bean
    GuardCustomizer pigeonholeGuardMeters(InboxMetrics metrics) {
      return guard -> guard.listener(metrics);
    }

    @Bean
    LeaseGuardCustomizer pigeonholeLeaseGuardMeters(InboxMetrics metrics) {
      return guard -> guard.listener(metrics);
    }

    /** The gauges need an inbox that is built. */
    @Bean
    SmartInitializingSingleton pigeonholeInboxGauges(
        InboxMetrics metrics, ObjectProvider<Inbox> inboxes) {
      return () -> inboxes.forEach(metrics::watch);
    }
  }

  /** Attempts as observations; without a registry of those, as timers. */
  @Configuration(proxyBeanMethods = false)
  static class Attempts {

    @Bean
    @Order(Ordered.HIGHEST_PRECEDENCE + 1)
    @ConditionalOnMissingBean(name = "pigeonholeInboxObservations")
    InboxCustomizer pigeonholeInboxObservations(
        ObjectProvider<ObservationRegistry> observations,
        ObjectProvider<MeterRegistry> meters,
        ObjectProvider<ProcessConvention> convention,
        PigeonholeProperties properties) {
      return inbox -> {
        ProcessObservations attempts = in(observations.getIfUnique(), meters.getIfUnique());
        if (attempts == null) {
          return;
        }
        if (properties.observations().inTraceOfMessage()) {
          attempts = attempts.inTraceOfMessage();
        }
        inbox.around(
            attempts.convention(
                convention.getIfUnique(
                    () ->
                        properties.observations().openTelemetryNames()
                            ? ProcessConvention.openTelemetry()
                            : ProcessConvention.plain())));
      };
    }

    private static @Nullable ProcessObservations in(
        @Nullable ObservationRegistry observations, @Nullable MeterRegistry meters) {
      if (observations != null) {
        return ProcessObservations.in(observations);
      }
      return meters == null ? null : ProcessObservations.in(meters);
    }
  }

  @Configuration(proxyBeanMethods = false)
  @ConditionalOnClass(Outbox.class)
  @ConditionalOnBean(Outbox.class)
  @ConditionalOnSingleCandidate(MeterRegistry.class)
  static class OutboxMeters {

    @Bean
    @ConditionalOnMissingBean
    OutboxMetrics pigeonholeOutboxMetrics(MeterRegistry registry) {
      return OutboxMetrics.to(registry);
    }

    @Bean
    @Order(Ordered.HIGHEST_PRECEDENCE)
    OutboxCustomizer pigeonholeOutboxMeters(OutboxMetrics metrics) {
      return outbox -> outbox.listener(metrics);
    }

    @Bean
    SmartInitializingSingleton pigeonholeOutboxGauges(
        OutboxMetrics metrics, ObjectProvider<Outbox> outboxes) {
      return () -> outboxes.forEach(each -> metrics.watch(each.name(), each.admin()));
    }
  }

  /** What is sent as observations; without a registry of those, as timers. */
  @Configuration(proxyBeanMethods = false)
  @ConditionalOnClass(Outbox.class)
  static class OutboxAttempts {

    @Bean
    @Order(Ordered.HIGHEST_PRECEDENCE + 1)
    @ConditionalOnMissingBean(name = "pigeonholeOutboxObservations")
    OutboxCustomizer pigeonholeOutboxObservations(
        ObjectProvider<ObservationRegistry> observations,
        ObjectProvider<MeterRegistry> meters,
        ObjectProvider<RelayConvention> convention,
        PigeonholeProperties properties) {
      return outbox -> {
        RelayObservations attempts = in(observations.getIfUnique(), meters.getIfUnique());
        if (attempts == null) {
          return;
        }
        attempts =
            attempts.convention(
                convention.getIfUnique(
                    () ->
                        properties.observations().openTelemetryNames()
                            ? RelayConvention.openTelemetry()
                            : RelayConvention.plain()));
        outbox.around(attempts).onSending(attempts);
      };
    }

    private static @Nullable RelayObservations in(
        @Nullable ObservationRegistry observations, @Nullable MeterRegistry meters) {
      if (observations != null) {
        return RelayObservations.in(observations);
      }
      return meters == null ? null : RelayObservations.in(meters);
    }
  }

  /** Keeps trace contexts with messages. */
  @Configuration(proxyBeanMethods = false)
  @ConditionalOnClass(Tracer.class)
  @ConditionalOnBean({Tracer.class, Propagator.class})
  static class Traces {

    @Bean
    @ConditionalOnMissingBean
    StoredTraces pigeonholeStoredTraces(Tracer tracer, Propagator propagator) {
      return StoredTraces.of(tracer, propagator);
    }

    /** Before that of Spring Boot, which would take every attempt for a part of its message's. */
    @Bean
    @Order(Ordered.HIGHEST_PRECEDENCE)
    TracingObservationHandler<Observation.Context> pigeonholeTracingHandler(StoredTraces traces) {
      return traces.handler();
    }

    @Bean
    InboxCustomizer pigeonholeInboxTraces(StoredTraces traces) {
      return inbox -> inbox.stamping(traces);
    }
  }

  @Configuration(proxyBeanMethods = false)
  @ConditionalOnClass({Tracer.class, Outbox.class})
  @ConditionalOnBean({Tracer.class, Propagator.class})
  static class OutboxTraces {

    @Bean
    OutboxCustomizer pigeonholeOutboxTraces(StoredTraces traces) {
      return outbox -> outbox.stamping(traces);
    }
  }
}
