package dev.pigeonhole.micrometer;

import dev.pigeonhole.Headers;
import dev.pigeonhole.Interceptor;
import dev.pigeonhole.Received;
import io.micrometer.observation.transport.Kind;
import io.micrometer.observation.transport.ReceiverContext;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** What is known of one attempt of one handler while it is observed. */
public final class ProcessContext extends ReceiverContext<Headers> {
  private final Received<?> received;
  private final boolean linked;
  private volatile Interceptor.@Nullable End end;

  ProcessContext(Received<?> received, boolean linked) {
    super((headers, name) -> headers.text(name).orElse(null), Kind.CONSUMER);
    this.received = received;
    this.linked = linked;
    setCarrier(received.headers());
  }

  /** The message and its attempt. Leave its payload out of what you observe. */
  public Received<?> received() {
    return received;
  }

  /** Empty while the attempt is under way. */
  public Optional<Interceptor.End> end() {
    return Optional.ofNullable(end);
  }

  /** Whether its span is a trace of its own, linked to that of the message, or a part of it. */
  public boolean linked() {
    return linked;
  }

  void end(Interceptor.End how) {
    this.end = how;
  }
}
