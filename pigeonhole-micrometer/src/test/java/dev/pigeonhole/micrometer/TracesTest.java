package dev.pigeonhole.micrometer;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.Channel;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.InboxBuilder;
import dev.pigeonhole.Message;
import dev.pigeonhole.MessageHandler;
import dev.pigeonhole.outbox.InProcess;
import dev.pigeonhole.outbox.Outbox;
import dev.pigeonhole.support.TestDatabase;
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
import io.opentelemetry.api.trace.SpanKind;
import io.opentelemetry.api.trace.propagation.W3CTraceContextPropagator;
import io.opentelemetry.context.propagation.ContextPropagators;
import io.opentelemetry.sdk.testing.exporter.InMemorySpanExporter;
import io.opentelemetry.sdk.trace.SdkTracerProvider;
import io.opentelemetry.sdk.trace.data.SpanData;
import io.opentelemetry.sdk.trace.export.SimpleSpanProcessor;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Traces that go through a database and come out again, by OpenTelemetry. */
class TracesTest {
  private final InMemorySpanExporter exported = InMemorySpanExporter.create();
  private final List<String> seen = new ArrayList<>();
  private final Tracer tracer;
  private final StoredTraces traces;
  private final ObservationRegistry registry = ObservationRegistry.create();

  TracesTest() {
    SdkTracerProvider provider =
        SdkTracerProvider.builder().addSpanProcessor(SimpleSpanProcessor.create(exported)).build();
    io.opentelemetry.api.trace.Tracer otel = provider.get("test");
    tracer = new OtelTracer(otel, new OtelCurrentTraceContext(), event -> {});
    OtelPropagator propagator =
        new OtelPropagator(
            ContextPropagators.create(W3CTraceContextPropagator.getInstance()), otel);
    traces = StoredTraces.of(tracer, propagator);
    registry
        .observationConfig()
        .observationHandler(
            new FirstMatchingCompositeObservationHandler(
                traces.handler(),
                new PropagatingReceiverTracingObservationHandler<>(tracer, propagator),
                new PropagatingSenderTracingObservationHandler<>(tracer, propagator),
                new DefaultTracingObservationHandler(tracer)));
  }

  /** Within a span of this name; answers its "trace-span". */
  private String within(String name, Runnable work) {
    Span span = tracer.nextSpan().name(name).start();
    try (Tracer.SpanInScope scope = tracer.withSpan(span)) {
      work.run();
      return span.context().traceId() + "-" + span.context().spanId();
    } finally {
      span.end();
    }
  }

  private InboxBuilder inbox(Shop shop, ProcessObservations observing) {
    return inbox(
        shop,
        observing,
        received -> {
          Span current = tracer.currentSpan();
          seen.add(current == null ? "none" : id(current.context()));
        });
  }

  private InboxBuilder inbox(
      Shop shop, ProcessObservations observing, MessageHandler<OrderPlaced> handler) {
    return Inbox.on(shop.store)
        .named("shop")
        .codec(Shop.CODEC)
        .lanes(4)
        .channel(
            Channel.named("orders")
                .on(OrderPlaced.class)
                .handleMessage("reserve-stock", handler)
                .build())
        .stamping(traces)
        .around(observing);
  }

  private static String id(io.micrometer.tracing.TraceContext context) {
    return context.traceId() + "-" + context.spanId();
  }

  private static String id(SpanData span) {
    return span.getTraceId() + "-" + span.getSpanId();
  }

  private static String parentOf(SpanData span) {
    return span.getTraceId() + "-" + span.getParentSpanId();
  }

  private List<SpanData> spans(String name) {
    return exported.getFinishedSpanItems().stream()
        .filter(span -> span.getName().equals(name))
        .toList();
  }

  private SpanData span(String name) {
    List<SpanData> found = spans(name);
    assertThat(found).as(name).hasSize(1);
    return found.get(0);
  }

  private static Message order(String id) {
    return Message.of(id, new OrderPlaced(id));
  }

  private static List<String> links(SpanData span) {
    return span.getLinks().stream()
        .map(link -> link.getSpanContext().getTraceId() + "-" + link.getSpanContext().getSpanId())
        .toList();
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.micrometer.Shop#databases")
  void anAttemptIsATraceOfItsOwnLinkedToWhereTheMessageWasAccepted(TestDatabase database) {
    Inbox inbox = inbox(Shop.in(database), ProcessObservations.in(registry)).build();
    String request = within("request", () -> inbox.accept("orders", order("m")));
    inbox.drain();

    SpanData process = span("process reserve-stock");
    assertThat(process.getKind()).isEqualTo(SpanKind.CONSUMER);
    assertThat(process.getParentSpanContext().isValid()).isFalse();
    assertThat(process.getTraceId()).isNotEqualTo(span("request").getTraceId());
    assertThat(links(process)).containsExactly(request);
    assertThat(seen).as("in scope while the handler runs").containsExactly(id(process));
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.micrometer.Shop#databases")
  void anAttemptCanBeAPartOfTheTraceOfItsMessage(TestDatabase database) {
    Inbox inbox =
        inbox(Shop.in(database), ProcessObservations.in(registry).inTraceOfMessage()).build();
    String request = within("request", () -> inbox.accept("orders", order("m")));
    inbox.drain();

    SpanData process = span("process reserve-stock");
    assertThat(parentOf(process)).isEqualTo(request);
    assertThat(process.getLinks()).isEmpty();
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.micrometer.Shop#databases")
  void aMessageThatComesWithATraceKeepsIt(TestDatabase database) {
    Inbox inbox = inbox(Shop.in(database), ProcessObservations.in(registry)).build();
    String trace = "4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7";
    within(
        "request",
        () -> inbox.accept("orders", order("m").header("traceparent", "00-" + trace + "-01")));
    inbox.accept("orders", order("n").header("traceparent", "nonsense"));
    inbox.drain();

    assertThat(spans("process reserve-stock"))
        .extracting(TracesTest::links)
        .containsExactlyInAnyOrder(List.of(trace), List.of());
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.micrometer.Shop#databases")
  void aTraceRunsFromTheOutboxThroughTheInboxToTheHandler(TestDatabase database) {
    Shop shop = Shop.in(database);
    Inbox inbox = inbox(shop, ProcessObservations.in(registry).inTraceOfMessage()).build();
    RelayObservations relaying = RelayObservations.in(registry);
    Outbox outbox = outbox(shop, inbox, relaying);
    String first = within("first", () -> shop.commit(tx -> outbox.publish(tx, order("m1"))));
    String second = within("second", () -> shop.commit(tx -> outbox.publish(tx, order("m2"))));
    outbox.drain();
    inbox.drain();

    List<SpanData> sends = spans("send OrderPlaced");
    assertThat(sends).extracting(TracesTest::parentOf).containsExactlyInAnyOrder(first, second);
    assertThat(sends).extracting(SpanData::getKind).containsOnly(SpanKind.PRODUCER);
    assertThat(spans("process reserve-stock"))
        .as("each goes on from its own, though both were sent at once")
        .extracting(TracesTest::parentOf)
        .containsExactlyInAnyOrderElementsOf(sends.stream().map(TracesTest::id).toList());
    assertThat(relaying.underWay()).isZero();
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.micrometer.Shop#databases")
  void whatAHandlerPublishesBelongsToItsAttempt(TestDatabase database) {
    Shop shop = Shop.in(database);
    Inbox ledger = inbox(shop, ProcessObservations.in(registry).inTraceOfMessage()).build();
    Outbox outbox = outbox(shop, ledger, RelayObservations.in(registry));
    ledger.accept("orders", order("unused"));
    ledger.drain();
    exported.reset();
    Inbox publishing =
        inbox(
                shop,
                ProcessObservations.in(registry),
                received -> {
                  if (received.message().id().equals("cause")) {
                    received.publish(order("effect"));
                  }
                })
            .outbox(outbox)
            .build();
    within("request", () -> publishing.accept("orders", order("cause")));
    publishing.drain();
    outbox.drain();

    assertThat(parentOf(span("send OrderPlaced"))).isEqualTo(id(span("process reserve-stock")));
  }

  private Outbox outbox(Shop shop, Inbox inbox, RelayObservations relaying) {
    return Outbox.on(shop.store)
        .codec(Shop.CODEC)
        .lanes(4)
        .route(OrderPlaced.class, InProcess.into(inbox, "orders"))
        .stamping(traces)
        .around(relaying)
        .onSending(relaying)
        .build();
  }
}
