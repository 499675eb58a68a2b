package dev.pigeonhole.micrometer;

import dev.pigeonhole.Headers;
import dev.pigeonhole.Message;
import io.micrometer.observation.Observation;
import io.micrometer.tracing.TraceContext;
import io.micrometer.tracing.Tracer;
import io.micrometer.tracing.handler.TracingObservationHandler;
import io.micrometer.tracing.propagation.Propagator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.UnaryOperator;

/**
 * Lets a trace survive the store. As a stamp of an inbox or outbox it writes the current trace
 * context into the headers of messages, which are kept with them; and its {@link #handler()} reads
 * them when a message is handled or sent.
 *
 * <pre>{@code
 * StoredTraces traces = StoredTraces.of(tracer, propagator);
 * observationRegistry.observationConfig().observationHandler(traces.handler());
 * Inbox.on(store).channel(orders).stamping(traces).around(observations).build();
 * }</pre>
 *
 * <p>A message that came with a trace context keeps its own. Needs {@code micrometer-tracing}.
 */
public final class StoredTraces implements UnaryOperator<Message> {
  private final Tracer tracer;
  private final Propagator propagator;

  private StoredTraces(Tracer tracer, Propagator propagator) {
    this.tracer = tracer;
    this.propagator = propagator;
  }

  /** Traces of this tracer, written as this propagator does. */
  public static StoredTraces of(Tracer tracer, Propagator propagator) {
    return new StoredTraces(tracer, propagator);
  }

  /** The message with the trace context of this thread, if it has one and the message has none. */
  @Override
  public Message apply(Message message) {
    Map<String, String> fields = new LinkedHashMap<>();
    if (!Quietly.run(() -> read(message.headers(), fields))) {
      return message;
    }
    Headers headers = message.headers();
    for (Map.Entry<String, String> each : fields.entrySet()) {
      headers = headers.with(each.getKey(), each.getValue());
    }
    return fields.isEmpty() ? message : message.headers(headers);
  }

  private void read(Headers headers, Map<String, String> fields) {
    TraceContext current = tracer.currentTraceContext().context();
    if (current != null && !carriesTrace(headers)) {
      propagator.inject(current, fields, RelayContext::put);
    }
  }

  private boolean carriesTrace(Headers headers) {
    return headers.get(W3cTrace.PARENT) != null
        || propagator.fields().stream().anyMatch(name -> headers.get(name) != null);
  }

  /**
   * Makes the spans of {@link ProcessObservations} and {@link RelayObservations}. To be registered
   * before other handlers that make spans, such that the first one that fits is taken.
   */
  public TracingObservationHandler<Observation.Context> handler() {
    return new StoredTraceHandler(tracer, propagator);
  }
}
