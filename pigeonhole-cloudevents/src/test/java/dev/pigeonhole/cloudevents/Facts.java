package dev.pigeonhole.cloudevents;

import dev.pigeonhole.Headers;
import dev.pigeonhole.Message;
import java.util.HexFormat;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** Everything that a message says, to be compared. */
final class Facts {
  private Facts() {}

  static Map<String, String> of(Message message) {
    Map<String, String> facts = new TreeMap<>();
    put(facts, "id", message.id());
    put(facts, "source", message.source().orElse(null));
    put(facts, "type", message.type().orElse(null));
    put(facts, "content type", message.contentType().orElse(null));
    put(facts, "payload", message.payload());
    put(facts, "ordering key", message.orderingKey().orElse(null));
    put(facts, "occurred at", message.occurredAt().orElse(null));
    put(facts, "transport", message.transport());
    Headers headers = message.headers();
    headers.asMap().forEach((name, value) -> put(facts, "header " + name, value));
    return facts;
  }

  private static void put(Map<String, String> facts, String name, @Nullable Object value) {
    if (value instanceof byte[] bytes) {
      facts.put(name, "bytes " + HexFormat.of().formatHex(bytes));
    } else {
      facts.put(name, value == null ? "nothing" : value.getClass().getSimpleName() + " " + value);
    }
  }
}
