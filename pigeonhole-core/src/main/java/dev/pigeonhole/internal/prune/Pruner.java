package dev.pigeonhole.internal.prune;

import dev.pigeonhole.event.InboxEvent;
import dev.pigeonhole.internal.dispatch.Events;
import dev.pigeonhole.store.Maintenance;
import dev.pigeonhole.store.Pruning;
import java.time.Duration;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Prunes step by step. While handlers are behind it waits, but only for a while: a burst passes,
 * but a handler that is behind for days must not fill the disk.
 */
public final class Pruner {
  private static final Logger LOG = LoggerFactory.getLogger(Pruner.class);
  private static final int STEP = 500;

  /** Then it rests for a while: much to delete must not mean deleting all the time. */
  private static final long MOST_TIME = Duration.ofSeconds(1).toNanos();

  /** Handlers may be behind for so long before it no longer waits for them. */
  static final Duration PATIENCE = Duration.ofMinutes(10);

  private final Maintenance store;
  private final Retention retention;
  private final Events events;
  private final BooleanSupplier inTheWay;
  private final LongSupplier nanos;
  private @Nullable Long waitsSince;

  /**
   * @param inTheWay whether handlers are behind, so that deleting would only slow them down
   */
  public Pruner(Maintenance store, Retention retention, Events events, BooleanSupplier inTheWay) {
    this(store, retention, events, inTheWay, System::nanoTime);
  }

  Pruner(
      Maintenance store,
      Retention retention,
      Events events,
      BooleanSupplier inTheWay,
      LongSupplier nanos) {
    this.store = store;
    this.retention = retention;
    this.events = events;
    this.inTheWay = inTheWay;
    this.nanos = nanos;
  }

  /** Takes steps for a while, if there are any to take. */
  public void turn() {
    if (!retention.wanted()) {
      return;
    }
    long began = nanos.getAsLong();
    boolean more = true;
    while (more && !waits() && nanos.getAsLong() - began < MOST_TIME) {
      Pruning.Step step;
      try {
        step = store.prune(retention, STEP);
      } catch (Retention.ArchiveException e) {
        LOG.error("Inbox {} deletes nothing: {}", events.inbox(), e.getMessage(), e.getCause());
        return;
      }
      if (step.deleted() + step.dropped() > 0) {
        events.tell(new InboxEvent.Pruned(events.inbox(), step.deleted(), step.dropped()));
      }
      more = step.more();
    }
  }

  private boolean waits() {
    if (!inTheWay.getAsBoolean()) {
      waitsSince = null;
      return false;
    }
    long now = nanos.getAsLong();
    if (waitsSince == null) {
      waitsSince = now;
    }
    return now - waitsSince < PATIENCE.toNanos();
  }
}
