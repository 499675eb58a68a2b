package dev.pigeonhole.micrometer;

import static org.assertj.core.api.Assertions.assertThat;

import io.micrometer.observation.ObservationHandler;
import io.micrometer.observation.ObservationHandler.FirstMatchingCompositeObservationHandler;
import io.micrometer.observation.ObservationRegistry;
import io.micrometer.tracing.Span;
import io.micrometer.tracing.Tracer;
import io.micrometer.tracing.handler.DefaultTracingObservationHandler;
import io.micrometer.tracing.handler.PropagatingReceiverTracingObservationHandler;
import io.micrometer.tracing.handler.PropagatingSenderTracingObservationHandler;
import io.micrometer.tracing.otel.bridge.OtelCurrentTraceContext;
import io.micrometer.tracing.otel.bridge.OtelPropagator;
import io.micrometer.tracing.otel.bridge.OtelTracer;
import io.opentelemetry.api.trace.propagation.W3CTraceContextPropagator;
import io.opentelemetry.context.propagation.ContextPropagators;
import io.opentelemetry.context.propagation.TextMapPropagator;
import io.opentelemetry.sdk.testing.exporter.InMemorySpanExporter;
import io.opentelemetry.sdk.trace.SdkTracerProvider;
import io.opentelemetry.sdk.trace.data.SpanData;
import io.opentelemetry.sdk.trace.export.SimpleSpanProcessor;
import java.util.ArrayList;
import java.util.List;

/** OpenTelemetry behind Micrometer, as an application sets it up, and the spans that came of it. */
final class Tracing {
  final InMemorySpanExporter exported = InMemorySpanExporter.create();
  final Tracer tracer;
  final StoredTraces traces;
  final ObservationRegistry registry = ObservationRegistry.create();

  Tracing() {
    this(W3CTraceContextPropagator.getInstance(), true);
  }

  /**
   * @param form how trace contexts are written
   * @param handled whether our handler makes the spans of attempts, or Micrometer's
   */
  Tracing(TextMapPropagator form, boolean handled) {
    SdkTracerProvider provider =
        SdkTracerProvider.builder().addSpanProcessor(SimpleSpanProcessor.create(exported)).build();
    io.opentelemetry.api.trace.Tracer otel = provider.get("test");
    tracer = new OtelTracer(otel, new OtelCurrentTraceContext(), event -> {});
    OtelPropagator propagator = new OtelPropagator(ContextPropagators.create(form), otel);
    traces = StoredTraces.of(tracer, propagator);
    List<ObservationHandler<?>> handlers = new ArrayList<>();
    if (handled) {
      handlers.add(traces.handler());
    }
    handlers.add(new PropagatingReceiverTracingObservationHandler<>(tracer, propagator));
    handlers.add(new PropagatingSenderTracingObservationHandler<>(tracer, propagator));
    handlers.add(new DefaultTracingObservationHandler(tracer));
    registry
        .observationConfig()
        .observationHandler(new FirstMatchingCompositeObservationHandler(handlers));
  }

  /** Within a span of this name; answers its "trace-span". */
  String within(String name, Runnable work) {
    Span span = tracer.nextSpan().name(name).start();
    try (Tracer.SpanInScope scope = tracer.withSpan(span)) {
      work.run();
      return span.context().traceId() + "-" + span.context().spanId();
    } finally {
      span.end();
    }
  }

  /** The "trace-span" that this thread is in. */
  String current() {
    Span span = tracer.currentSpan();
    return span == null ? "none" : span.context().traceId() + "-" + span.context().spanId();
  }

  List<SpanData> spans(String name) {
    return exported.getFinishedSpanItems().stream()
        .filter(span -> span.getName().equals(name))
        .toList();
  }

  SpanData span(String name) {
    List<SpanData> found = spans(name);
    assertThat(found).as(name).hasSize(1);
    return found.get(0);
  }

  static String id(SpanData span) {
    return span.getTraceId() + "-" + span.getSpanId();
  }

  static String parentOf(SpanData span) {
    return span.getTraceId() + "-" + span.getParentSpanId();
  }

  static List<String> links(SpanData span) {
    return span.getLinks().stream()
        .map(link -> link.getSpanContext().getTraceId() + "-" + link.getSpanContext().getSpanId())
        .toList();
  }
}
