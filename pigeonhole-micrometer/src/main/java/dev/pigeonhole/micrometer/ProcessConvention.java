package dev.pigeonhole.micrometer;

import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationConvention;

/**
 * What an observed attempt is called, and which keys it has. Implement it to choose your own, or
 * set one in the {@code ObservationRegistry} for all.
 */
public interface ProcessConvention extends ObservationConvention<ProcessContext> {

  /** {@code pigeonhole.inbox.process} with inbox, handler, type and outcome. */
  static ProcessConvention plain() {
    return PlainProcess.INSTANCE;
  }

  /**
   * {@code messaging.process.duration} and the keys of OpenTelemetry's conventions for messaging,
   * which are not stable yet and will be followed here.
   */
  static ProcessConvention openTelemetry() {
    return OpenTelemetryNames.PROCESS;
  }

  @Override
  default boolean supportsContext(Observation.Context context) {
    return context instanceof ProcessContext;
  }
}
