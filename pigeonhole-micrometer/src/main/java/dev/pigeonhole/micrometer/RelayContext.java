package dev.pigeonhole.micrometer;

import dev.pigeonhole.Interceptor;
import dev.pigeonhole.Received;
import io.micrometer.observation.transport.Kind;
import io.micrometer.observation.transport.SenderContext;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** What is known of one attempt to send one message while it is observed. */
public final class RelayContext extends SenderContext<Map<String, String>> {
  private final Received<?> staged;
  private final Map<String, String> headers = new LinkedHashMap<>();
  private volatile Interceptor.@Nullable End end;

  RelayContext(Received<?> staged) {
    super(RelayContext::put, Kind.PRODUCER);
    this.staged = staged;
    setCarrier(headers);
  }

  /** Nobody asks for a header of nothing, but the interface allows it. */
  static void put(@Nullable Map<String, String> headers, String name, String value) {
    if (headers != null) {
      headers.put(name, value);
    }
  }

  /** The message as it was published, and its attempt. */
  public Received<?> staged() {
    return staged;
  }

  /** Empty while the attempt is under way. */
  public Optional<Interceptor.End> end() {
    return Optional.ofNullable(end);
  }

  /** What tracing wants the message to carry. */
  Map<String, String> headers() {
    return headers;
  }

  void end(Interceptor.End how) {
    this.end = how;
  }
}
