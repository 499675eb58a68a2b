package dev.pigeonhole.micrometer;

import dev.pigeonhole.Received;
import io.micrometer.common.KeyValues;

/** What spans say of a message and meters must not. */
final class Details {
  private Details() {}

  static KeyValues of(Received<?> received) {
    KeyValues keys =
        KeyValues.of(
            "messaging.message.id", received.message().id(),
            "pigeonhole.attempt", Integer.toString(received.attempt()));
    return received
        .headers()
        .text("correlation-id")
        .map(id -> keys.and("messaging.message.conversation_id", id))
        .orElse(keys);
  }
}
