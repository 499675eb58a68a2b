package dev.pigeonhole.internal.admin;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.internal.registry.Names;
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

  private static final int LONGEST = 1_000;
  private static final Instant FIRST = Instant.parse("1970-01-01T00:00:00Z");
  private static final Instant LAST = Instant.parse("9999-12-30T00:00:00Z");

  /** The longest that any name of a message can be. */
  private static final int LONGEST_NAME = 250;

  static final Words NONE = new Words(new EnumMap<>(Word.class));

  private final Map<Word, String> said;

  private Words(EnumMap<Word, String> said) {
    this.said = Collections.unmodifiableMap(said);
  }

  /** A time, as far as every database can go. */
  Words with(Word word, Instant time) {
    Instant early = time.isBefore(FIRST) ? FIRST : time;
    return with(word, (early.isAfter(LAST) ? LAST : early).toString());
  }

  /** What one thing is asked for by: it could have this name. */
  static String checked(String what, String value) {
    if (!Names.isText(value, LONGEST_NAME)) {
      throw impossible(what, value);
    }
    return value;
  }

  private static InboxException impossible(String what, String value) {
    return new InboxException(
        ErrorCode.SELECTION_INVALID,
        "Nothing can have '%s' as its %s. Look for control characters and for its length."
            .formatted(Names.shown(value), what));
  }

  Words with(Word word, String value) {
    if (Names.badCharacter(value) >= 0 || value.length() > LONGEST) {
      throw impossible(name(word), value);
    }
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
        .map(each -> name(each.getKey()) + " '" + each.getValue() + "'")
        .collect(Collectors.joining(", "));
  }

  private static String name(Word word) {
    return word.name().toLowerCase(Locale.ROOT).replace('_', ' ');
  }
}
