package dev.pigeonhole.micrometer;

import dev.pigeonhole.Inbox;
import dev.pigeonhole.admin.InboxAdmin;
import dev.pigeonhole.event.InboxEvent;
import dev.pigeonhole.event.InboxListener;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import java.time.Duration;

/**
 * The meters of inboxes and guards. Give it to their builders as a listener, and let it watch each
 * inbox for the gauges:
 *
 * <pre>{@code
 * InboxMetrics metrics = InboxMetrics.to(meterRegistry);
 * Inbox inbox = Inbox.on(store).channel(orders).listener(metrics).build();
 * metrics.watch(inbox);
 * }</pre>
 *
 * <p>How long attempts take is told by {@link ProcessObservations}. One of these may serve any
 * number of inboxes and guards. No tag ever holds an id, content, or the text of an exception.
 */
public final class InboxMetrics implements InboxListener {
  private final MeterRegistry registry;
  private final EngineMeters engine;

  private InboxMetrics(MeterRegistry registry, GaugeOptions options) {
    this.registry = registry;
    this.engine = new EngineMeters(registry, EngineMeters.INBOX, options);
  }

  /** Meters in this registry; gauges as {@link GaugeOptions#defaults()} says. */
  public static InboxMetrics to(MeterRegistry registry) {
    return to(registry, GaugeOptions.defaults());
  }

  /** Meters in this registry. */
  public static InboxMetrics to(MeterRegistry registry, GaugeOptions options) {
    return new InboxMetrics(registry, options);
  }

  /** Shows how the inbox stands, on all nodes together, by what its store says. */
  public InboxMetrics watch(Inbox inbox) {
    return watch(inbox.name(), inbox.admin());
  }

  /** The same for an inbox that runs elsewhere, or by its administration alone. */
  public InboxMetrics watch(String inbox, InboxAdmin admin) {
    engine.watch(inbox, admin);
    return this;
  }

  @Override
  public void on(InboxEvent event) {
    if (event instanceof InboxEvent.Answered answered) {
      engine.answered(answered, answered.channel());
    } else if (event instanceof InboxEvent.AcceptFailed failed) {
      engine.failed(failed, failed.channel());
    } else if (event instanceof InboxEvent.Completed completed) {
      Timer.builder("pigeonhole.inbox.lag")
          .description("From the receipt of a message until a handler has finished it")
          .tags("inbox", completed.inbox(), "handler", completed.handler())
          .register(registry)
          .record(completed.lag());
    } else if (event instanceof InboxEvent.OfGuard ofGuard) {
      guard(ofGuard);
    } else {
      engine.on(event);
    }
  }

  private void guard(InboxEvent.OfGuard event) {
    if (event instanceof InboxEvent.GuardRan ran) {
      guard(event, "ran", ran.took());
    } else if (event instanceof InboxEvent.GuardRepeated repeated) {
      guard(event, "repeat", repeated.took());
    } else if (event instanceof InboxEvent.GuardBusy busy) {
      guard(event, "busy", busy.waited());
    } else if (event instanceof InboxEvent.GuardConflicted conflicted) {
      guard(event, "conflict", conflicted.took());
    } else if (event instanceof InboxEvent.GuardFailed failed) {
      guard(event, "failed", failed.took());
    } else if (event instanceof InboxEvent.GuardKeyMissing) {
      guard(event, "missing-key", Duration.ZERO);
    } else if (event instanceof InboxEvent.GuardUnguarded) {
      guard(event, "unguarded", Duration.ZERO); // its run is told of as well
    }
  }

  private void guard(InboxEvent.OfGuard event, String outcome, Duration took) {
    Timer.builder("pigeonhole.guard")
        .description("Runs of guards and of inline handlers, waiting included")
        .tags("handler", event.handler(), "outcome", outcome)
        .register(registry)
        .record(took);
  }
}
