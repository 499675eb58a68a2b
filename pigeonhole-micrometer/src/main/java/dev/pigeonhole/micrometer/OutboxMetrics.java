package dev.pigeonhole.micrometer;

import dev.pigeonhole.admin.InboxAdmin;
import dev.pigeonhole.event.InboxEvent;
import dev.pigeonhole.event.InboxListener;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;

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
  private final MeterRegistry registry;
  private final GaugeOptions options;
  private final EngineMeters engine;

  private OutboxMetrics(MeterRegistry registry, GaugeOptions options) {
    this.registry = registry;
    this.options = options;
    this.engine = new EngineMeters(registry, EngineMeters.OUTBOX);
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
    engine.watch(outbox, admin, options);
    return this;
  }

  @Override
  public void on(InboxEvent event) {
    if (event instanceof InboxEvent.Answered answered) {
      // A type that no route takes is refused, and may be any text.
      boolean refused =
          answered.type().isEmpty() || "rejected".equals(InboxMetrics.outcome(answered));
      publish(event.inbox(), refused ? "unknown" : answered.type(), InboxMetrics.outcome(answered))
          .record(answered.took());
    } else if (event instanceof InboxEvent.AcceptFailed failed) {
      Timer timer = publish(event.inbox(), "unknown", "error");
      for (int i = 0; i < failed.messages(); i++) {
        timer.record(failed.took());
      }
    } else {
      engine.on(event);
    }
  }

  private Timer publish(String outbox, String channel, String outcome) {
    return Timer.builder("pigeonhole.outbox.publish")
        .description("Staging messages in the transaction of whoever publishes them")
        .tags("outbox", outbox, "channel", channel, "outcome", outcome)
        .register(registry);
  }
}
