package dev.pigeonhole.cloudevents;

import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** What W3C Trace Context calls its two headers, and CloudEvents its two extensions. */
final class TraceContext {
  static final String PARENT = "traceparent";
  static final String STATE = "tracestate";

  private static final Pattern VALID =
      Pattern.compile(
          "(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(-.*)?");

  private TraceContext() {}

  /** A later version may have more parts than the first, which is all that is known of it. */
  static boolean isValid(@Nullable Object parent) {
    return parent instanceof String text
        && VALID.matcher(text).matches()
        && (text.length() == 55 || !text.startsWith("00"));
  }
}
