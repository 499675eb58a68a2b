package dev.pigeonhole.micrometer;

import dev.pigeonhole.Interceptor;
import dev.pigeonhole.Received;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationRegistry;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * Observes every attempt of the handlers of an inbox: {@code pigeonhole.inbox.process}, a timer and
 * a span. It is in scope while the handler runs, and ends when it is decided how the attempt ends,
 * so that the outcome is what the retry policy says and not what was thrown.
 *
 * <pre>{@code
 * Inbox.on(store).channel(orders).around(ProcessObservations.in(observationRegistry)).build();
 * }</pre>
 *
 * <p>Attempts of a batch are observed one inside the other. With a registry that observes nothing,
 * nothing is made.
 */
public final class ProcessObservations implements Interceptor {
  private final ObservationRegistry registry;
  private final @Nullable ProcessConvention convention;
  private final boolean linked;
  private final OpenObservations<ProcessContext> open = new OpenObservations<>();

  private ProcessObservations(
      ObservationRegistry registry, @Nullable ProcessConvention convention, boolean linked) {
    this.registry = registry;
    this.convention = convention;
    this.linked = linked;
  }

  /** Observations in this registry, whose handlers make meters and spans of them. */
  public static ProcessObservations in(ObservationRegistry registry) {
    return new ProcessObservations(registry, null, true);
  }

  /** Timers alone. */
  public static ProcessObservations in(MeterRegistry meters) {
    return in(OpenObservations.timing(meters));
  }

  /** Other names and keys. Default {@link ProcessConvention#plain()}. */
  public ProcessObservations convention(ProcessConvention other) {
    return new ProcessObservations(registry, other, linked);
  }

  /**
   * Makes spans a part of the trace that the message came with. Without this each attempt is a
   * trace of its own with a link to that one: a message may be handled days later, many times, and
   * by many handlers.
   */
  public ProcessObservations inTraceOfMessage() {
    return new ProcessObservations(registry, convention, false);
  }

  @Override
  public void around(Received<?> received, Next next) throws Exception {
    if (registry.isNoop()) {
      next.proceed();
      return;
    }
    ProcessContext context = new ProcessContext(received, linked);
    Observation observation =
        Observation.createNotStarted(
            convention, ProcessConvention.plain(), () -> context, registry);
    if (observation.isNoop()) {
      next.proceed();
      return;
    }
    if (!open.start(received, observation, context)) {
      next.proceed();
      return;
    }
    try {
      inScope(observation, next);
    } catch (Throwable e) {
      if (open.get(received) != null) { // else it has ended without us
        boolean unused = Quietly.run(() -> observation.error(e));
      }
      throw e;
    }
  }

  /** A scope that fails halfway must not stay on the thread, which goes on to other attempts. */
  private void inScope(Observation observation, Next next) throws Exception {
    Observation.Scope before = registry.getCurrentObservationScope();
    AtomicReference<Observation.Scope> scope = new AtomicReference<>();
    if (!Quietly.run(() -> scope.set(observation.openScope()))) {
      registry.setCurrentObservationScope(before);
    }
    try {
      next.proceed();
    } finally {
      Observation.Scope opened = scope.get();
      if (opened != null && !Quietly.run(opened::close)) {
        registry.setCurrentObservationScope(before);
      }
    }
  }

  @Override
  public void ended(Received<?> received, End end, @Nullable Throwable cause) {
    OpenObservations.Open<ProcessContext> ending = open.end(received);
    if (ending != null) {
      ending.context().end(end);
      if (cause != null && ending.context().getError() == null) {
        ending.observation().error(cause);
      }
      ending.observation().stop();
    }
  }

  int underWay() {
    return open.size();
  }
}
