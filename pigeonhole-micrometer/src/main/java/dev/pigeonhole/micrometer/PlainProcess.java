package dev.pigeonhole.micrometer;

import dev.pigeonhole.Received;
import io.micrometer.common.KeyValues;

/** Our own names for attempts. */
final class PlainProcess implements ProcessConvention {
  static final PlainProcess INSTANCE = new PlainProcess();

  private PlainProcess() {}

  @Override
  public String getName() {
    return "pigeonhole.inbox.process";
  }

  @Override
  public String getContextualName(ProcessContext context) {
    return "process " + context.received().handler();
  }

  @Override
  public KeyValues getLowCardinalityKeyValues(ProcessContext context) {
    Received<?> received = context.received();
    return KeyValues.of(
        "inbox", received.inbox(),
        "handler", received.handler(),
        "type", received.type(),
        "outcome", Outcomes.word(context.end()));
  }

  @Override
  public KeyValues getHighCardinalityKeyValues(ProcessContext context) {
    return Details.of(context.received());
  }
}
