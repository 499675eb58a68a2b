package dev.pigeonhole.cloudevents;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.InboxException;
import org.jspecify.annotations.Nullable;

/** Why an event is not taken, in words that are safe for one line of a log. */
final class Refusal {
  private static final int LENGTH = 64;

  private Refusal() {}

  /**
   * @param text how the sentence goes on after the place, and the way out
   */
  static InboxException of(ErrorCode code, Place place, String text, @Nullable Object... values) {
    Object[] shown = new Object[values.length];
    for (int i = 0; i < values.length; i++) {
      shown[i] = shown(String.valueOf(values[i]));
    }
    return new InboxException(
        code,
        "The event %s %s:%s "
                .formatted(place.side(), shown(place.transport()), shown(place.destination()))
            + text.formatted(shown));
  }

  /** Escaped, and cut to 64 characters. */
  private static String shown(String value) {
    StringBuilder out = new StringBuilder();
    int length = 0;
    for (int i = 0; i < value.length(); length++) {
      if (length == LENGTH) {
        return out.append('…').toString();
      }
      int point = value.codePointAt(i);
      i += Character.charCount(point);
      switch (Character.getType(point)) {
        case Character.CONTROL,
            Character.FORMAT,
            Character.SURROGATE,
            Character.LINE_SEPARATOR,
            Character.PARAGRAPH_SEPARATOR ->
            out.append(String.format("\\u%04X", point));
        default -> out.appendCodePoint(point);
      }
    }
    return out.toString();
  }

  /** Where an event comes from or goes to. */
  record Place(String side, String transport, String destination) {}
}
