package dev.pigeonhole.outbox;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.pigeonhole.codec.PayloadCodec;
import org.jspecify.annotations.Nullable;

/** Writes an order on a line. */
final class LineCodec implements PayloadCodec {
  static final String TYPE = "text/x-order";

  @Override
  public String contentType() {
    return TYPE;
  }

  @Override
  public byte[] encode(Object payload) {
    OrderPlaced order = (OrderPlaced) payload;
    return (order.order() + "|" + order.customer()).getBytes(UTF_8);
  }

  @Override
  public <T> @Nullable T decode(byte @Nullable [] content, String contentType, Class<T> type) {
    String[] parts = new String(content == null ? new byte[0] : content, UTF_8).split("\\|");
    return type.cast(new OrderPlaced(parts[0], parts[1]));
  }
}
