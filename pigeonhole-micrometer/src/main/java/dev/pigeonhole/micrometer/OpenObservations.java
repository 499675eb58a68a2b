package dev.pigeonhole.micrometer;

import dev.pigeonhole.Received;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.observation.DefaultMeterObservationHandler;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationRegistry;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Observations of attempts under way, by attempt. An attempt is itself and no other, so its
 * identity is the key. How it ends may be told by another thread while the handler's is still
 * inside; whoever takes the observation out of here first ends it.
 */
final class OpenObservations<C extends Observation.Context> {
  /** An observation, and what it is told of. */
  record Open<C>(Observation observation, C context) {}

  private final Map<Received<?>, Open<C>> open = new ConcurrentHashMap<>();

  /** Meters alone, for whoever has no registry of observations. */
  static ObservationRegistry timing(MeterRegistry meters) {
    ObservationRegistry registry = ObservationRegistry.create();
    registry.observationConfig().observationHandler(new DefaultMeterObservationHandler(meters));
    return registry;
  }

  /** Whether it has started; one that has not is forgotten. */
  boolean start(Received<?> attempt, Observation observation, C context) {
    open.put(attempt, new Open<>(observation, context));
    boolean started = Quietly.run(observation::start);
    if (!started) {
      open.remove(attempt);
    }
    return started;
  }

  @Nullable Open<C> get(Received<?> attempt) {
    return open.get(attempt);
  }

  @Nullable Open<C> end(Received<?> attempt) {
    return open.remove(attempt);
  }

  /** For tests: nothing may stay here once everything has ended. */
  int size() {
    return open.size();
  }
}
