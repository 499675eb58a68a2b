package dev.pigeonhole.internal.prune;

import dev.pigeonhole.event.InboxEvent;
import dev.pigeonhole.internal.dispatch.Events;
import dev.pigeonhole.store.Maintenance;
import dev.pigeonhole.store.Pruning;
import java.time.Duration;
import java.util.function.BooleanSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Forgets step by step, and waits while there is more important work to do. */
public final class Pruner {
  private static final Logger LOG = LoggerFactory.getLogger(Pruner.class);
  private static final int STEP = 500;

  /** Then it rests for a while: much to delete must not mean deleting all the time. */
  private static final long MOST_TIME = Duration.ofSeconds(1).toNanos();

  private final Maintenance store;
  private final Retention retention;
  private final Events events;
  private final BooleanSupplier inTheWay;

  /**
   * @param inTheWay whether handlers are behind, so that deleting would only slow them down
   */
  public Pruner(Maintenance store, Retention retention, Events events, BooleanSupplier inTheWay) {
    this.store = store;
    this.retention = retention;
    this.events = events;
    this.inTheWay = inTheWay;
  }

  /** Takes steps for a while, if there are any to take. */
  public void turn() {
    if (!retention.wanted()) {
      return;
    }
    long began = System.nanoTime();
    boolean more = true;
    while (more && !inTheWay.getAsBoolean() && System.nanoTime() - began < MOST_TIME) {
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
}
