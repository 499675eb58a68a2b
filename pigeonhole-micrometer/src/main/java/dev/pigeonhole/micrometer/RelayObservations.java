package dev.pigeonhole.micrometer;

import dev.pigeonhole.Interceptor;
import dev.pigeonhole.Message;
import dev.pigeonhole.Received;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationRegistry;
import java.util.Map;
import java.util.function.BiFunction;
import org.jspecify.annotations.Nullable;

/**
 * Observes every attempt of an outbox to send a message: {@code pigeonhole.outbox.relay}, a timer
 * and a span, whose trace context the message carries to whoever receives it. So it is given twice:
 *
 * <pre>{@code
 * RelayObservations relaying = RelayObservations.in(observationRegistry);
 * Outbox.on(store).route(OrderPlaced.class, transport).around(relaying).onSending(relaying).build();
 * }</pre>
 *
 * <p>Many messages are sent at once, so none of them is in scope meanwhile.
 */
public final class RelayObservations
    implements Interceptor, BiFunction<Received<?>, Message, Message> {
  private final ObservationRegistry registry;
  private final @Nullable RelayConvention convention;
  private final OpenObservations<RelayContext> open = new OpenObservations<>();

  private RelayObservations(ObservationRegistry registry, @Nullable RelayConvention convention) {
    this.registry = registry;
    this.convention = convention;
  }

  /** Observations in this registry, whose handlers make meters and spans of them. */
  public static RelayObservations in(ObservationRegistry registry) {
    return new RelayObservations(registry, null);
  }

  /** Timers alone. */
  public static RelayObservations in(MeterRegistry meters) {
    return in(OpenObservations.timing(meters));
  }

  /** Other names and keys. Default {@link RelayConvention#plain()}. */
  public RelayObservations convention(RelayConvention other) {
    return new RelayObservations(registry, other);
  }

  @Override
  public void around(Received<?> received, Next next) throws Exception {
    if (!registry.isNoop()) {
      RelayContext context = new RelayContext(received);
      Observation observation =
          Observation.createNotStarted(
              convention, RelayConvention.plain(), () -> context, registry);
      if (!observation.isNoop()) {
        boolean unused = open.start(received, observation, context);
      }
    }
    next.proceed();
  }

  /** The message with what tracing wants it to carry; instead of what it was published with. */
  @Override
  public Message apply(Received<?> staged, Message message) {
    OpenObservations.Open<RelayContext> sending = open.get(staged);
    if (sending == null) {
      return message;
    }
    Message carrying = message;
    for (Map.Entry<String, String> each : sending.context().headers().entrySet()) {
      carrying = carrying.header(each.getKey(), each.getValue());
    }
    return carrying;
  }

  @Override
  public void ended(Received<?> received, End end, @Nullable Throwable cause) {
    OpenObservations.Open<RelayContext> ending = open.end(received);
    if (ending != null) {
      ending.context().end(end);
      if (cause != null) {
        ending.observation().error(cause);
      }
      ending.observation().stop();
    }
  }

  int underWay() {
    return open.size();
  }
}
