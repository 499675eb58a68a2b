package dev.pigeonhole.micrometer;

import dev.pigeonhole.Received;
import io.micrometer.common.KeyValue;
import io.micrometer.common.KeyValues;
import io.micrometer.observation.Observation;

/**
 * The conventions of OpenTelemetry 1.44 for messaging, in one place because they are still in
 * development. {@code error.type} is always there, {@code none} without an error: some registries
 * refuse a meter whose tags come and go.
 */
final class OpenTelemetryNames {
  static final ProcessConvention PROCESS = new Processing();
  static final RelayConvention RELAY = new Relaying();

  private OpenTelemetryNames() {}

  private static KeyValues keys(
      Received<?> received, String operation, String outcome, Observation.Context context) {
    Throwable error = context.getError();
    return KeyValues.of(
        "messaging.operation.name",
        operation,
        "messaging.operation.type",
        operation,
        "messaging.system",
        "pigeonhole",
        "messaging.destination.name",
        received.inbox(),
        "messaging.destination.subscription.name",
        received.handler(),
        "error.type",
        error == null ? KeyValue.NONE_VALUE : error.getClass().getName(),
        "pigeonhole.outcome",
        outcome);
  }

  private static final class Processing implements ProcessConvention {
    @Override
    public String getName() {
      return "messaging.process.duration";
    }

    @Override
    public String getContextualName(ProcessContext context) {
      return "process " + context.received().inbox();
    }

    @Override
    public KeyValues getLowCardinalityKeyValues(ProcessContext context) {
      return keys(context.received(), "process", Outcomes.word(context.end()), context);
    }

    @Override
    public KeyValues getHighCardinalityKeyValues(ProcessContext context) {
      return Details.of(context.received());
    }
  }

  private static final class Relaying implements RelayConvention {
    @Override
    public String getName() {
      return "messaging.client.operation.duration";
    }

    @Override
    public String getContextualName(RelayContext context) {
      return "send " + context.staged().handler();
    }

    @Override
    public KeyValues getLowCardinalityKeyValues(RelayContext context) {
      return keys(context.staged(), "send", Outcomes.word(context.end()), context);
    }

    @Override
    public KeyValues getHighCardinalityKeyValues(RelayContext context) {
      return Details.of(context.staged());
    }
  }
}
