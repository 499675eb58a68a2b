package dev.pigeonhole;

import dev.pigeonhole.internal.registry.HeaderKey;
import dev.pigeonhole.internal.registry.KeyReader;
import dev.pigeonhole.internal.registry.PointerKey;

/**
 * Finds the business key of a message without decoding it into a class: for messages that come as
 * bytes, in which the key stands in a header or at a known place of the content.
 *
 * <pre>{@code
 * Channel.named("orders")
 *     .on(OrderPlaced.class)
 *     .keyedBy(KeySelector.jsonPointer("/order/id"))
 *     .handle("reserve-stock", stock::reserve)
 *     .build();
 * }</pre>
 */
public final class KeySelector {
  private final KeyReader reader;

  private KeySelector(KeyReader reader) {
    this.reader = reader;
  }

  /**
   * The value of a header: text, a number, a boolean, an instant, or bytes that are UTF-8. Names of
   * headers are compared as they are, with upper and lower case.
   */
  public static KeySelector header(String name) {
    return new KeySelector(new HeaderKey(name));
  }

  /**
   * The text, number or boolean at this place of the content, as RFC 6901 writes it. It needs a
   * codec that can look into content, as those of {@code pigeonhole-jackson} can. It looks at what
   * came, also where that is an older form of the type.
   */
  public static KeySelector jsonPointer(String pointer) {
    return new KeySelector(new PointerKey(pointer));
  }

  KeyReader reader() {
    return reader;
  }
}
