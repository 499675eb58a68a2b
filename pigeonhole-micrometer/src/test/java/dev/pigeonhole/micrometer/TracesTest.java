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
import io.opentelemetry.api.trace.SpanKind;
import io.opentelemetry.api.trace.propagation.W3CTraceContextPropagator;
import io.opentelemetry.extension.trace.propagation.B3Propagator;
import io.opentelemetry.sdk.trace.data.SpanData;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Traces that go through a database and come out again, by OpenTelemetry. */
class TracesTest {
  private Tracing tracing = new Tracing();
  private final List<String> seen = new ArrayList<>();

  private InboxBuilder inbox(Shop shop, ProcessObservations observing) {
    return inbox(shop, observing, received -> seen.add(tracing.current()));
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
        .stamping(tracing.traces)
        .around(observing);
  }

  private static Message order(String id) {
    return Message.of(id, new OrderPlaced(id));
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.micrometer.Shop#databases")
  void anAttemptIsATraceOfItsOwnLinkedToWhereTheMessageWasAccepted(TestDatabase database) {
    Inbox inbox = inbox(Shop.in(database), ProcessObservations.in(tracing.registry)).build();
    String request = tracing.within("request", () -> inbox.accept("orders", order("m")));
    inbox.drain();

    SpanData process = tracing.span("process reserve-stock");
    assertThat(process.getKind()).isEqualTo(SpanKind.CONSUMER);
    assertThat(process.getParentSpanContext().isValid()).isFalse();
    assertThat(process.getTraceId()).isNotEqualTo(tracing.span("request").getTraceId());
    assertThat(Tracing.links(process)).containsExactly(request);
    assertThat(seen).as("in scope while the handler runs").containsExactly(Tracing.id(process));
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.micrometer.Shop#databases")
  void anAttemptCanBeAPartOfTheTraceOfItsMessage(TestDatabase database) {
    Inbox inbox =
        inbox(Shop.in(database), ProcessObservations.in(tracing.registry).inTraceOfMessage())
            .build();
    String request = tracing.within("request", () -> inbox.accept("orders", order("m")));
    inbox.drain();

    SpanData process = tracing.span("process reserve-stock");
    assertThat(Tracing.parentOf(process)).isEqualTo(request);
    assertThat(process.getLinks()).isEmpty();
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.micrometer.Shop#databases")
  void aMessageThatComesWithATraceKeepsIt(TestDatabase database) {
    Inbox inbox = inbox(Shop.in(database), ProcessObservations.in(tracing.registry)).build();
    String trace = "4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7";
    tracing.within(
        "request",
        () -> inbox.accept("orders", order("m").header("traceparent", "00-" + trace + "-01")));
    inbox.accept("orders", order("n").header("traceparent", "nonsense"));
    inbox.drain();

    assertThat(tracing.spans("process reserve-stock"))
        .extracting(Tracing::links)
        .containsExactlyInAnyOrder(List.of(trace), List.of());
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.micrometer.Shop#databases")
  void aTraceRunsFromTheOutboxThroughTheInboxToTheHandler(TestDatabase database) {
    Shop shop = Shop.in(database);
    Inbox inbox = inbox(shop, ProcessObservations.in(tracing.registry).inTraceOfMessage()).build();
    RelayObservations relaying = RelayObservations.in(tracing.registry);
    Outbox outbox = outbox(shop, inbox, relaying);
    String first =
        tracing.within("first", () -> shop.commit(tx -> outbox.publish(tx, order("m1"))));
    String second =
        tracing.within("second", () -> shop.commit(tx -> outbox.publish(tx, order("m2"))));
    outbox.drain();
    inbox.drain();

    List<SpanData> sends = tracing.spans("send OrderPlaced");
    assertThat(sends).extracting(Tracing::parentOf).containsExactlyInAnyOrder(first, second);
    assertThat(sends).extracting(SpanData::getKind).containsOnly(SpanKind.PRODUCER);
    assertThat(tracing.spans("process reserve-stock"))
        .as("each goes on from its own, though both were sent at once")
        .extracting(Tracing::parentOf)
        .containsExactlyInAnyOrderElementsOf(sends.stream().map(Tracing::id).toList());
    assertThat(relaying.underWay()).isZero();
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.micrometer.Shop#databases")
  void whatAHandlerPublishesBelongsToItsAttempt(TestDatabase database) {
    Shop shop = Shop.in(database);
    Inbox ledger = inbox(shop, ProcessObservations.in(tracing.registry).inTraceOfMessage()).build();
    Outbox outbox = outbox(shop, ledger, RelayObservations.in(tracing.registry));
    ledger.accept("orders", order("unused"));
    ledger.drain();
    tracing.exported.reset();
    Inbox publishing =
        inbox(
                shop,
                ProcessObservations.in(tracing.registry),
                received -> {
                  if (received.message().id().equals("cause")) {
                    received.publish(order("effect"));
                  }
                })
            .outbox(outbox)
            .build();
    tracing.within("request", () -> publishing.accept("orders", order("cause")));
    publishing.drain();
    outbox.drain();

    assertThat(Tracing.parentOf(tracing.span("send OrderPlaced")))
        .isEqualTo(Tracing.id(tracing.span("process reserve-stock")));
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.micrometer.Shop#databases")
  void aTraceInAnotherFormThanW3csIsTheParentOfAttempts(TestDatabase database) {
    tracing = new Tracing(B3Propagator.injectingSingleHeader(), true);
    Inbox inbox = inbox(Shop.in(database), ProcessObservations.in(tracing.registry)).build();
    String request = tracing.within("request", () -> inbox.accept("orders", order("m")));
    String trace = "4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7";
    tracing.within("other", () -> inbox.accept("orders", order("n").header("b3", trace + "-1")));
    inbox.drain();

    assertThat(tracing.spans("process reserve-stock"))
        .allMatch(process -> process.getLinks().isEmpty())
        .extracting(Tracing::parentOf)
        .containsExactlyInAnyOrder(request, trace);
  }

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.micrometer.Shop#databases")
  void withoutOurHandlerAttemptsArePartsOfTheTraceOfTheirMessage(TestDatabase database) {
    tracing = new Tracing(W3CTraceContextPropagator.getInstance(), false);
    Shop shop = Shop.in(database);
    Inbox inbox = inbox(shop, ProcessObservations.in(tracing.registry)).build();
    Outbox outbox = outbox(shop, inbox, RelayObservations.in(tracing.registry));
    String request =
        tracing.within("request", () -> shop.commit(tx -> outbox.publish(tx, order("m"))));
    outbox.drain();
    inbox.drain();

    SpanData send = tracing.span("send OrderPlaced");
    assertThat(send.getTraceId()).as("of its own").isNotEqualTo(request.substring(0, 32));
    assertThat(send.getParentSpanContext().isValid()).isFalse();
    SpanData process = tracing.span("process reserve-stock");
    assertThat(Tracing.parentOf(process)).isEqualTo(Tracing.id(send));
    assertThat(process.getLinks()).isEmpty();
    assertThat(seen).containsExactly(Tracing.id(process));
  }

  private Outbox outbox(Shop shop, Inbox inbox, RelayObservations relaying) {
    return Outbox.on(shop.store)
        .codec(Shop.CODEC)
        .lanes(4)
        .route(OrderPlaced.class, InProcess.into(inbox, "orders"))
        .stamping(tracing.traces)
        .around(relaying)
        .onSending(relaying)
        .build();
  }
}
