package dev.pigeonhole.micrometer;

import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationConvention;

/**
 * What an observed attempt to send is called, and which keys it has. Implement it to choose your
 * own, or set one in the {@code ObservationRegistry} for all.
 */
public interface RelayConvention extends ObservationConvention<RelayContext> {

  /** {@code pigeonhole.outbox.relay} with outbox, channel and outcome. */
  static RelayConvention plain() {
    return PlainRelay.INSTANCE;
  }

  /**
   * {@code messaging.client.operation.duration} and the keys of OpenTelemetry's conventions for
   * messaging, which are not stable yet and will be followed here.
   */
  static RelayConvention openTelemetry() {
    return OpenTelemetryNames.RELAY;
  }

  @Override
  default boolean supportsContext(Observation.Context context) {
    return context instanceof RelayContext;
  }
}
