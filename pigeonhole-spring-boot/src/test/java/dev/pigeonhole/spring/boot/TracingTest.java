package dev.pigeonhole.spring.boot;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.Inbox;
import dev.pigeonhole.Message;
import dev.pigeonhole.outbox.Outbox;
import dev.pigeonhole.spring.InboxHandler;
import dev.pigeonhole.spring.OutboxTemplate;
import dev.pigeonhole.spring.boot.AutoConfigurationTest.Order;
import io.micrometer.tracing.Span;
import io.micrometer.tracing.Tracer;
import io.micrometer.tracing.otel.bridge.OtelCurrentTraceContext;
import io.micrometer.tracing.otel.bridge.OtelPropagator;
import io.micrometer.tracing.otel.bridge.OtelTracer;
import io.micrometer.tracing.propagation.Propagator;
import io.opentelemetry.api.trace.propagation.W3CTraceContextPropagator;
import io.opentelemetry.context.propagation.ContextPropagators;
import io.opentelemetry.sdk.testing.exporter.InMemorySpanExporter;
import io.opentelemetry.sdk.trace.SdkTracerProvider;
import io.opentelemetry.sdk.trace.data.SpanData;
import io.opentelemetry.sdk.trace.export.SimpleSpanProcessor;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.micrometer.observation.autoconfigure.ObservationAutoConfiguration;
import org.springframework.boot.micrometer.tracing.autoconfigure.MicrometerTracingAutoConfiguration;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.ApplicationContext;
import org.springframework.context.annotation.Configuration;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

/** Traces by OpenTelemetry, through the handlers of observations that Spring Boot sets up. */
class TracingTest {
  private final InMemorySpanExporter exported = InMemorySpanExporter.create();
  private final io.opentelemetry.api.trace.Tracer otel =
      SdkTracerProvider.builder()
          .addSpanProcessor(SimpleSpanProcessor.create(exported))
          .build()
          .get("test");

  private ApplicationContextRunner runner() {
    return AutoConfigurationTest.runner()
        .withConfiguration(
            AutoConfigurations.of(
                ObservationAutoConfiguration.class, MicrometerTracingAutoConfiguration.class))
        .withBean(
            Tracer.class, () -> new OtelTracer(otel, new OtelCurrentTraceContext(), event -> {}))
        .withBean(
            Propagator.class,
            () ->
                new OtelPropagator(
                    ContextPropagators.create(W3CTraceContextPropagator.getInstance()), otel))
        .withUserConfiguration(Handling.class);
  }

  @Test
  void anAttemptIsATraceOfItsOwnLinkedToWhereTheMessageWasAccepted() {
    runner()
        .run(
            context -> {
              acceptAndHandle(context);
              SpanData request = span("request");
              SpanData process = span("process see");
              assertThat(process.getTraceId()).isNotEqualTo(request.getTraceId());
              assertThat(process.getParentSpanContext().isValid()).isFalse();
              assertThat(process.getLinks())
                  .extracting(each -> each.getSpanContext().getSpanId())
                  .containsExactly(request.getSpanId());
              assertThat(context.getBean(Handling.class).within)
                  .as("in scope while the handler runs")
                  .containsExactly(process.getSpanId());
            });
  }

  @Test
  void anAttemptIsAPartOfTheTraceOfItsMessageForWhoeverWantsThat() {
    runner()
        .withPropertyValues("pigeonhole.observations.in-trace-of-message=true")
        .run(
            context -> {
              acceptAndHandle(context);
              assertThat(span("process see").getParentSpanId())
                  .isEqualTo(span("request").getSpanId());
              assertThat(span("process see").getLinks()).isEmpty();
            });
  }

  @Test
  void whatIsSentBelongsToWhateverPublishedIt() {
    runner()
        .withUserConfiguration(AutoConfigurationTest.Publishing.class)
        .withPropertyValues(
            "pigeonhole.outbox.enabled=true", "pigeonhole.outbox.background-processing=false")
        .run(
            context -> {
              OutboxTemplate outbox = context.getBean(OutboxTemplate.class);
              PlatformTransactionManager manager =
                  context.getBean(PlatformTransactionManager.class);
              within(
                  context,
                  () ->
                      new TransactionTemplate(manager)
                          .executeWithoutResult(
                              tx -> outbox.publish(Message.of("m-1", new Order("o-1")))));
              context.getBean(Outbox.class).drain();
              assertThat(span("send Order").getParentSpanId())
                  .isEqualTo(span("request").getSpanId());
            });
  }

  private static void acceptAndHandle(ApplicationContext context) {
    Inbox inbox = context.getBean(Inbox.class);
    within(context, () -> inbox.accept("orders", Message.of("m-1", new Order("o-1"))));
    assertThat(inbox.drain()).isEqualTo(1);
  }

  private static void within(ApplicationContext context, Runnable request) {
    Tracer tracer = context.getBean(Tracer.class);
    Span span = tracer.nextSpan().name("request").start();
    try (Tracer.SpanInScope scope = tracer.withSpan(span)) {
      request.run();
    } finally {
      span.end();
    }
  }

  private SpanData span(String name) {
    List<SpanData> all =
        exported.getFinishedSpanItems().stream()
            .filter(each -> each.getName().equals(name))
            .toList();
    assertThat(all).as(name).hasSize(1);
    return all.get(0);
  }

  @Configuration(proxyBeanMethods = false)
  static class Handling {
    final List<String> within = new CopyOnWriteArrayList<>();
    private final ObjectProvider<Tracer> tracers;

    Handling(ObjectProvider<Tracer> tracers) {
      this.tracers = tracers;
    }

    @InboxHandler(channel = "orders", key = "see")
    void see(Order order) {
      Span current = tracers.getObject().currentSpan();
      within.add(current == null ? "none" : current.context().spanId());
    }
  }
}
