package dev.pigeonhole.internal.guard;

import dev.pigeonhole.event.InboxEvent;
import dev.pigeonhole.internal.dispatch.Events;
import dev.pigeonhole.internal.prune.Retention;
import dev.pigeonhole.store.Maintenance;
import dev.pigeonhole.store.NewMessage;
import dev.pigeonhole.store.Pruning;
import dev.pigeonhole.store.StoredMessage;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.random.RandomGenerator;

/**
 * Forgets what guards have run, and nothing else: messages that an inbox has accepted are the
 * inbox's to keep, even where it has no retention of its own.
 */
final class GuardRetention implements Pruning {
  private static final int STEP = 500;

  private final Maintenance store;
  private final Events events;
  private final Duration keep;

  GuardRetention(Maintenance store, Events events, Duration keep) {
    this.store = store;
    this.events = events;
    this.keep = keep;
  }

  /** A random part of the pause, so that a fleet that starts together does not prune together. */
  Duration first(RandomGenerator random) {
    return Duration.ofMillis(random.nextLong(betweenRounds().toMillis() + 1));
  }

  /** Takes one step; answers whether another would find more. */
  boolean step() {
    Step step = store.prune(this, STEP);
    if (step.deleted() > 0) {
      events.tell(new InboxEvent.Pruned(events.inbox(), step.deleted(), step.dropped()));
    }
    return step.more();
  }

  @Override
  public Walk walk() {
    return Walk.GUARDS;
  }

  @Override
  public Duration youngest() {
    return keep;
  }

  @Override
  public Duration betweenRounds() {
    return Retention.betweenRounds(keep);
  }

  @Override
  public Fate judge(Finished message) {
    boolean old =
        message.transport().equals(NewMessage.GUARD)
            && message.poisoned().isEmpty()
            && message.completed().values().stream().allMatch(at -> isOld(at, message.now()));
    return old ? Fate.DELETE : Fate.KEEP;
  }

  private boolean isOld(Instant completedAt, Instant now) {
    return Duration.between(completedAt, now).compareTo(keep) >= 0;
  }

  @Override
  public Duration keepOperations() {
    return Retention.OPERATIONS;
  }

  @Override
  public boolean archives() {
    return false;
  }

  @Override
  public void archive(List<StoredMessage> messages) {
    throw new UnsupportedOperationException("nobody listens");
  }
}
