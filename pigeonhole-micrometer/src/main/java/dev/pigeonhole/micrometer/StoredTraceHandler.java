package dev.pigeonhole.micrometer;

import dev.pigeonhole.Headers;
import io.micrometer.observation.Observation;
import io.micrometer.tracing.Link;
import io.micrometer.tracing.Span;
import io.micrometer.tracing.TraceContext;
import io.micrometer.tracing.Tracer;
import io.micrometer.tracing.handler.TracingObservationHandler;
import io.micrometer.tracing.propagation.Propagator;
import org.jspecify.annotations.Nullable;

/** Makes spans of attempts, by the trace context that was kept with their message. */
final class StoredTraceHandler implements TracingObservationHandler<Observation.Context> {
  private static final Propagator.Getter<Headers> GETTER =
      new Propagator.Getter<>() {
        @Override
        public @Nullable String get(Headers carrier, String key) {
          return carrier.text(key).orElse(null);
        }
      };

  private final Tracer tracer;
  private final Propagator propagator;

  StoredTraceHandler(Tracer tracer, Propagator propagator) {
    this.tracer = tracer;
    this.propagator = propagator;
  }

  @Override
  public boolean supportsContext(Observation.Context context) {
    return context instanceof ProcessContext || context instanceof RelayContext;
  }

  @Override
  public void onStart(Observation.Context context) {
    Span span;
    if (context instanceof RelayContext relay) {
      span = propagator.extract(relay.staged().headers(), GETTER).kind(Span.Kind.PRODUCER).start();
      propagator.inject(span.context(), relay.headers(), RelayContext::put);
    } else {
      span = process((ProcessContext) context).kind(Span.Kind.CONSUMER).start();
    }
    getTracingContext(context).setSpan(span);
  }

  /** A trace context in another form than W3C's can be a parent, but not a link. */
  private Span.Builder process(ProcessContext context) {
    Headers headers = context.received().headers();
    TraceContext creation = context.linked() ? W3cTrace.of(headers, tracer) : null;
    return creation == null
        ? propagator.extract(headers, GETTER)
        : tracer.spanBuilder().setNoParent().addLink(new Link(creation));
  }

  @Override
  public void onError(Observation.Context context) {
    Throwable error = context.getError();
    if (error != null) {
      getRequiredSpan(context).error(error);
    }
  }

  @Override
  public void onStop(Observation.Context context) {
    Span span = getRequiredSpan(context);
    tagSpan(context, span);
    span.name(getSpanName(context));
    endSpan(context, span);
  }

  @Override
  public Tracer getTracer() {
    return tracer;
  }
}
