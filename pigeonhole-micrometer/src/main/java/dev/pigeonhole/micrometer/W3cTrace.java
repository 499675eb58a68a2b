package dev.pigeonhole.micrometer;

import dev.pigeonhole.Headers;
import io.micrometer.tracing.TraceContext;
import io.micrometer.tracing.Tracer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Reads the header {@code traceparent}. A propagator could, but it answers a span that is about to
 * begin, and a link needs the context alone.
 */
final class W3cTrace {
  static final String PARENT = "traceparent";

  private static final Pattern FORM =
      Pattern.compile("(?!ff)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?");
  private static final String NO_TRACE = "0".repeat(32);
  private static final String NO_SPAN = "0".repeat(16);

  private W3cTrace() {}

  /** Null where there is none, or none that can be read. */
  static @Nullable TraceContext of(Headers headers, Tracer tracer) {
    Matcher parts = FORM.matcher(headers.text(PARENT).orElse(""));
    if (!parts.matches() || parts.group(1).equals(NO_TRACE) || parts.group(2).equals(NO_SPAN)) {
      return null;
    }
    return tracer
        .traceContextBuilder()
        .traceId(parts.group(1))
        .spanId(parts.group(2))
        .sampled((Integer.parseInt(parts.group(3), 16) & 1) == 1)
        .build();
  }
}
