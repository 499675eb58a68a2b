package dev.pigeonhole.micrometer;

import dev.pigeonhole.Received;
import io.micrometer.common.KeyValues;

/** Our own names for attempts to send. */
final class PlainRelay implements RelayConvention {
  static final PlainRelay INSTANCE = new PlainRelay();

  private PlainRelay() {}

  @Override
  public String getName() {
    return "pigeonhole.outbox.relay";
  }

  @Override
  public String getContextualName(RelayContext context) {
    return "send " + context.staged().handler();
  }

  @Override
  public KeyValues getLowCardinalityKeyValues(RelayContext context) {
    Received<?> staged = context.staged();
    return KeyValues.of(
        "outbox", staged.inbox(),
        "channel", staged.handler(),
        "outcome", Outcomes.word(context.end()));
  }

  @Override
  public KeyValues getHighCardinalityKeyValues(RelayContext context) {
    return Details.of(context.staged());
  }
}
