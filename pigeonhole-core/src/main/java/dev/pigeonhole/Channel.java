package dev.pigeonhole;

import dev.pigeonhole.internal.registry.ChannelSpec;

/**
 * A named stream of messages with the handlers that want them.
 *
 * <pre>{@code
 * Channel orders =
 *     Channel.named("orders")
 *         .on(OrderPlaced.class)
 *         .handle("reserve-stock", stock::reserve)
 *         .handle("send-receipt", mailer::sendReceipt, within(ofSeconds(20)))
 *         .build();
 * }</pre>
 */
public final class Channel {
  private final ChannelSpec spec;

  Channel(ChannelSpec spec) {
    this.spec = spec;
  }

  /** Starts a channel; policies of the whole channel come first, then one block per type. */
  public static ChannelBuilder named(String name) {
    return new ChannelBuilder(name);
  }

  /** What {@code accept} calls it; unique within its inbox. */
  public String name() {
    return spec.name();
  }

  ChannelSpec spec() {
    return spec;
  }
}
