package dev.pigeonhole.internal.dispatch;

import dev.pigeonhole.Headers;
import dev.pigeonhole.Message;
import dev.pigeonhole.internal.registry.KeySubject;
import dev.pigeonhole.internal.registry.Payloads;
import dev.pigeonhole.internal.registry.TypeSpec;
import org.jspecify.annotations.Nullable;

/** A message at the edge, as selectors see it: decoded only where one of them asks for it. */
final class Selectable implements KeySubject {
  private final Payloads payloads;
  private final TypeSpec type;
  private final Message message;
  private final Payloads.Encoded encoded;
  private @Nullable Object payload;

  Selectable(Payloads payloads, TypeSpec type, Message message, Payloads.Encoded encoded) {
    this.payloads = payloads;
    this.type = type;
    this.message = message;
    this.encoded = encoded;
  }

  @Override
  public Headers headers() {
    return message.headers();
  }

  @Override
  public @Nullable Object payload() {
    if (message.type().isEmpty()) {
      return message.payload();
    }
    if (payload == null && encoded.content() != null) {
      payload =
          payloads.decode(encoded.content(), encoded.contentType(), type, message.type().get());
    }
    return payload;
  }

  @Override
  public @Nullable Object content() {
    byte[] content = encoded.content();
    if (content != null) {
      return payloads.tree(content, encoded.contentType(), type.codec());
    }
    return message.type().isPresent() ? null : fields();
  }

  /** A decoded payload is written again: what the class does not know is not part of it. */
  @Override
  public @Nullable Object fields() {
    if (message.type().isEmpty() && encoded.content() != null) {
      return content();
    }
    Object present = payload();
    return present == null ? null : payloads.tree(present, type.codec());
  }
}
