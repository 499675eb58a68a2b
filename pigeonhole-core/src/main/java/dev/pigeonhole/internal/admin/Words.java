package dev.pigeonhole.internal.admin;

import java.time.Instant;
import java.util.Collections;
import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** What somebody has said to narrow a choice. */
final class Words {

  /** What can be said. */
  enum Word {
    UNHANDLED,
    HANDLER,
    TYPE,
    CHANNEL,
    SOURCE,
    ID,
    RECEIVED_FROM,
    RECEIVED_BEFORE,
    FINGERPRINT
  }

  static final Words NONE = new Words(new EnumMap<>(Word.class));

  private final Map<Word, String> said;

  private Words(EnumMap<Word, String> said) {
    this.said = Collections.unmodifiableMap(said);
  }

  Words with(Word word, String value) {
    EnumMap<Word, String> more = new EnumMap<>(Word.class);
    more.putAll(said);
    more.put(word, value);
    return new Words(more);
  }

  boolean has(Word word) {
    return said.containsKey(word);
  }

  @Nullable String get(Word word) {
    return said.get(word);
  }

  @Nullable Instant time(Word word) {
    String text = said.get(word);
    return text == null ? null : Instant.parse(text);
  }

  /** Whether anything was said. */
  boolean narrow() {
    return !said.isEmpty();
  }

  /** The same for the same words, whatever their order was. */
  @Override
  public String toString() {
    return said.entrySet().stream()
        .map(
            each ->
                each.getKey().name().toLowerCase(Locale.ROOT).replace('_', ' ')
                    + " '"
                    + each.getValue()
                    + "'")
        .collect(Collectors.joining(", "));
  }
}
