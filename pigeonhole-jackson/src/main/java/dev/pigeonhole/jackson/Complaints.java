package dev.pigeonhole.jackson;

import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.codec.CodecException;

/** The words of both codecs: what is wrong and where, never with which value. */
final class Complaints {
  private Complaints() {}

  static ConfigurationException defaultTyping() {
    return new ConfigurationException(
        ErrorCode.PAYLOAD_TYPE_REFUSED,
        "The mapper has default typing or its own PolymorphicTypeValidator, so content could choose"
            + " the class it becomes. Give a mapper without it; for a closed set of subtypes, use"
            + " @JsonTypeInfo(use = Id.NAME) with @JsonSubTypes.");
  }

  static ConfigurationException unusable(String mapper, String why) {
    return new ConfigurationException(
        ErrorCode.OPTION_NOT_APPLICABLE,
        "%s cannot be used: %s. Give a plain JSON mapper.".formatted(mapper, why));
  }

  static CodecException overLimits(Class<?> type, String limit, Place place, Throwable cause) {
    return new CodecException(
        ErrorCode.PAYLOAD_OVER_LIMITS,
        "The JSON for %s is %s%s.".formatted(type.getTypeName(), Limits.told(limit), place),
        Trace.of(cause));
  }

  static CodecException classChosen(Class<?> type, Place place, Throwable cause) {
    return new CodecException(
        ErrorCode.PAYLOAD_TYPE_REFUSED,
        "%s would let the JSON name a Java class%s, which is refused."
                .formatted(type.getTypeName(), place)
            + " For a closed set of subtypes, use @JsonTypeInfo(use = Id.NAME) with @JsonSubTypes.",
        Trace.of(cause));
  }

  static CodecException subtypeUnknown(Class<?> type, Place place, Throwable cause) {
    return new CodecException(
        ErrorCode.PAYLOAD_TYPE_REFUSED,
        "The JSON for %s names no known subtype%s.".formatted(type.getTypeName(), place),
        Trace.of(cause));
  }

  static CodecException malformed(Class<?> type, String message, Place place, Throwable cause) {
    return undecodable(
        message.startsWith("Duplicate")
            ? "The JSON for %s has a property twice%s.".formatted(type.getTypeName(), place)
            : "The content for %s is not valid JSON%s.".formatted(type.getTypeName(), place),
        cause);
  }

  static CodecException misfit(Class<?> type, String wanted, Place place, Throwable cause) {
    return undecodable(
        "The JSON does not fit %s: there should be a value for %s%s."
            .formatted(type.getTypeName(), wanted, place),
        cause);
  }

  static CodecException propertyUnknown(Class<?> type, Place place, Throwable cause) {
    return undecodable(
        "The JSON does not fit %s, which does not know the property%s."
            .formatted(type.getTypeName(), place),
        cause);
  }

  static CodecException refused(Class<?> type, Place place, Throwable cause) {
    return undecodable(
        "The JSON does not fit %s: %s was thrown%s."
            .formatted(type.getTypeName(), Causes.root(cause).getClass().getName(), place),
        cause);
  }

  static CodecException classUnreadable(
      Class<?> type, String broken, Place place, Throwable cause) {
    return undecodable(
        ("%s cannot be read from JSON: %s has no constructor for it, or its Jackson module is"
                + " missing%s.")
            .formatted(type.getTypeName(), broken, place),
        cause);
  }

  private static CodecException undecodable(String text, Throwable cause) {
    return new CodecException(ErrorCode.PAYLOAD_UNDECODABLE, text, Trace.of(cause));
  }

  static CodecException unencodable(Class<?> type, Place place, Throwable cause) {
    return new CodecException(
        ErrorCode.PAYLOAD_UNENCODABLE,
        "%s cannot be written as JSON%s: %s was thrown."
            .formatted(type.getTypeName(), place, Causes.root(cause).getClass().getName()),
        Trace.of(cause));
  }

  static CodecException unreadable(Class<?> type, CodecException why) {
    return new CodecException(
        ErrorCode.PAYLOAD_UNENCODABLE,
        "%s was written as JSON that could not be read again. %s"
            .formatted(type.getTypeName(), why.getMessage()),
        why.getCause());
  }
}
