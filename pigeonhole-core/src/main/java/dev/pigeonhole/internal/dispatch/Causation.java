package dev.pigeonhole.internal.dispatch;

import dev.pigeonhole.Headers;
import dev.pigeonhole.Message;
import dev.pigeonhole.Received;
import java.util.List;

/**
 * Lets a message that a handler publishes say what it comes from. What the handler has set itself
 * stays.
 */
final class Causation {
  private static final String CORRELATION = "correlation-id";
  private static final String CAUSATION = "causation-id";

  /** The W3C trace context. */
  private static final List<String> TRACE = List.of("traceparent", "tracestate", "baggage");

  private Causation() {}

  /** The message with the correlation and the trace of what was received. */
  static Message of(Received<?> received, Message published) {
    Headers own = published.headers();
    Headers cause = received.headers();
    Headers all = own;
    if (own.get(CAUSATION) == null) {
      all = all.with(CAUSATION, received.message().id());
    }
    if (own.get(CORRELATION) == null) {
      Object first = cause.get(CORRELATION);
      all = all.with(CORRELATION, first == null ? received.message().id() : first);
    }
    if (TRACE.stream().allMatch(name -> own.get(name) == null)) { // never half of another one
      for (String name : TRACE) {
        Object value = cause.get(name);
        all = value == null ? all : all.with(name, value);
      }
    }
    return published.headers(all);
  }
}
