package dev.pigeonhole.jackson;

import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.ErrorCode;
import java.util.Map;

/**
 * What a document may be. The number of tokens is out of reach for a document of the default
 * length; it bounds the objects that a longer one can cost.
 */
final class Limits {
  static final int DEPTH = 200;
  static final int NUMBER = 100;
  static final int NAME = 1_000;
  static final int TOKENS = 1_000_000;
  static final int LENGTH = 1_000_000;

  /** How Jackson begins to tell that a limit is passed; none of these quotes the content. */
  private static final Map<String, String> TOLD =
      Map.of(
          "Document nesting depth", "nested deeper than %d levels".formatted(DEPTH),
          "Number value length", "with a number of more than %d digits".formatted(NUMBER),
          "Name value length", "with a property name of more than %d characters".formatted(NAME),
          "Name length", "with a property name of more than %d characters".formatted(NAME),
          "Token count", "made of more than %d tokens".formatted(TOKENS),
          "String value length", "with a string longer than the limit of .maxLength(…)",
          "BigDecimal scale", "with an exponent that is too large");

  private Limits() {}

  static int checkedLength(int maxLength) {
    if (maxLength < 1) {
      throw new ConfigurationException(
          ErrorCode.RANGE_INVALID,
          "maxLength(%d): a document has at least one byte.".formatted(maxLength));
    }
    return maxLength;
  }

  /** A clause after "The JSON is". */
  static String told(String constraintMessage) {
    for (Map.Entry<String, String> each : TOLD.entrySet()) {
      if (constraintMessage.startsWith(each.getKey())) {
        return each.getValue();
      }
    }
    return "over a limit";
  }
}
