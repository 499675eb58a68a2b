package dev.pigeonhole.internal.guard;

import dev.pigeonhole.event.InboxEvent;
import dev.pigeonhole.internal.dispatch.Events;
import dev.pigeonhole.internal.prune.Retention;
import dev.pigeonhole.store.Maintenance;
import dev.pigeonhole.store.Pruning;
import dev.pigeonhole.store.StoredMessage;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.random.RandomGenerator;

/**
 * Forgets what guards have run, and nothing else: messages that an inbox has accepted are the
 * inbox's to keep, even where it has no retention of its own. Each receipt says until when it is to
 * be kept, so that guards with different times forget nothing of each other too early.
 */
final class GuardRetention implements Pruning {
  private static final int STEP = 500;

  private static final Duration BETWEEN_STEPS = Duration.ofMillis(10);

  /** A step is short, and what stood in the way may leave this round half done. */
  private static final Duration WHILE_LOCKED = Duration.ofSeconds(1);

  private final Maintenance store;
  private final Events events;
  private final Walk walk;
  private final Duration keep;

  private GuardRetention(Maintenance store, Events events, Walk walk, Duration keep) {
    this.store = store;
    this.events = events;
    this.walk = walk;
    this.keep = keep;
  }

  /** Empty for whoever forgets neither receipts nor answers. */
  static Optional<GuardRetention> of(Maintenance store, Events events, GuardSettings settings) {
    Duration receipts = settings.keepReceipts();
    if (receipts != null) {
      return Optional.of(new GuardRetention(store, events, Walk.GUARDS, receipts));
    }
    return Optional.ofNullable(settings.keepAnswers())
        .map(answers -> new GuardRetention(store, events, Walk.ANSWERS, answers));
  }

  /** A random part of the pause, so that a fleet that starts together does not prune together. */
  Duration first(RandomGenerator random) {
    return Duration.ofMillis(random.nextLong(betweenRounds().toMillis() + 1));
  }

  /** Takes one step; answers how long to wait for the next. */
  Duration step() {
    Step step = store.prune(this, STEP);
    if (step.deleted() > 0) {
      events.tell(new InboxEvent.Pruned(events.inbox(), step.deleted(), step.dropped()));
    }
    if (step.locked()) {
      return WHILE_LOCKED;
    }
    return step.more() ? BETWEEN_STEPS : betweenRounds();
  }

  @Override
  public Walk walk() {
    return walk;
  }

  @Override
  public Duration youngest() {
    return keep;
  }

  @Override
  public Duration betweenRounds() {
    return Retention.betweenRounds(keep);
  }

  /** A receipt that says nothing is that of an inline handler, and so the inbox's to keep. */
  @Override
  public Fate judge(Finished message) {
    if (message.promised() || !message.poisoned().isEmpty()) {
      return Fate.KEEP;
    }
    return message.keepUntil().keySet().containsAll(message.completed().keySet())
        ? Fate.DELETE
        : Fate.HAND_OVER;
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
