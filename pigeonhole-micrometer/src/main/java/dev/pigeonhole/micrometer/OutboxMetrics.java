package dev.pigeonhole.micrometer;

import dev.pigeonhole.Acceptance;
import dev.pigeonhole.admin.InboxAdmin;
import dev.pigeonhole.event.InboxEvent;
import dev.pigeonhole.event.InboxListener;
import io.micrometer.core.instrument.MeterRegistry;

/**
 * The meters of outboxes. Give it to their builders as a listener, and let it watch each outbox for
 * the gauges:
 *
 * <pre>{@code
 * OutboxMetrics metrics = OutboxMetrics.to(meterRegistry);
 * Outbox outbox = Outbox.on(store).route(OrderPlaced.class, transport).listener(metrics).build();
 * metrics.watch(outbox.name(), outbox.admin());
 * }</pre>
 *
 * <p>How long sending takes is told by {@link RelayObservations}. The tag {@code channel} is the
 * name of the route.
 */
public final class OutboxMetrics implements InboxListener {
  private final EngineMeters engine;

  private OutboxMetrics(MeterRegistry registry, GaugeOptions options) {
    this.engine = new EngineMeters(registry, EngineMeters.OUTBOX, options);
  }

  /** Meters in this registry; gauges as {@link GaugeOptions#defaults()} says. */
  public static OutboxMetrics to(MeterRegistry registry) {
    return to(registry, GaugeOptions.defaults());
  }

  /** Meters in this registry. */
  public static OutboxMetrics to(MeterRegistry registry, GaugeOptions options) {
    return new OutboxMetrics(registry, options);
  }

  /** Shows how the outbox stands, on all nodes together, by what its store says. */
  public OutboxMetrics watch(String outbox, InboxAdmin admin) {
    engine.watch(outbox, admin);
    return this;
  }

  @Override
  public void on(InboxEvent event) {
    if (event instanceof InboxEvent.Answered answered) {
      // A type that no route takes is refused, and may be any text.
      boolean refused =
          answered.type().isEmpty() || answered.answer() instanceof Acceptance.Rejected;
      engine.answered(answered, refused ? "unknown" : answered.type());
    } else if (event instanceof InboxEvent.AcceptFailed failed) {
      engine.failed(failed, "unknown");
    } else {
      engine.on(event);
    }
  }
}
