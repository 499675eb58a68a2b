package dev.pigeonhole;

import dev.pigeonhole.codec.PayloadCodec;
import dev.pigeonhole.event.InboxListener;
import dev.pigeonhole.internal.guard.DefaultGuard;
import dev.pigeonhole.internal.guard.GuardSettings;
import dev.pigeonhole.store.InboxStore;
import dev.pigeonhole.transport.Publisher;
import java.time.Duration;
import java.util.List;

/** All options of a guard; each has a default that is safe in production. */
public final class GuardBuilder {
  private final InboxStore store;
  private final GuardSettings.Draft draft = new GuardSettings.Draft();

  GuardBuilder(InboxStore store) {
    this.store = store;
  }

  /**
   * The name of the inbox whose tables these are: that of the inbox, where one uses them too.
   * Default {@code inbox}.
   */
  public GuardBuilder named(String name) {
    draft.name = name;
    return this;
  }

  /** The lanes of the inbox whose tables these are. Default 64. */
  public GuardBuilder lanes(int lanes) {
    draft.lanes = lanes;
    return this;
  }

  /** How requests and answers become bytes. Default: the codec that the class path offers. */
  public GuardBuilder codec(PayloadCodec codec) {
    draft.codec = codec;
    return this;
  }

  /** How long a copy waits for the first run before it is busy. Default 5 s. */
  public GuardBuilder waitAtMost(Duration time) {
    draft.waitAtMost = time;
    return this;
  }

  /**
   * How long a transaction of a guard may take; then its connection is taken away and all is rolled
   * back. A warning comes after a sixth of it. Default 30 s.
   */
  public GuardBuilder timeLimit(Duration time) {
    draft.timeLimit = time;
    return this;
  }

  /**
   * How long answers are kept. After that a repeat is still a repeat, without an answer. Default:
   * as long as the receipt.
   */
  public GuardBuilder keepAnswers(Duration time) {
    draft.keepAnswers = time;
    return this;
  }

  /** The largest answer in bytes; a larger one rolls the run back. Default 64 KB. */
  public GuardBuilder maxAnswer(int bytes) {
    draft.maxAnswer = bytes;
    return this;
  }

  /**
   * Keeps failures of these classes like answers: what the body wrote is undone, but its receipt
   * commits, and the exception reaches the caller as it is. Every repeat then gets a {@link
   * KeptFailureException}, also through {@link Guard#run}, and the body is not run again. For what
   * will fail next time, too, such as a card that was declined. May be given several times. Default
   * none: a repeat of what has failed runs again.
   *
   * <p>A failure is kept as long as its receipt, whatever {@link #keepAnswers} says: a repeat must
   * not look as if the first run had succeeded. For an inbox on these tables the message is done.
   *
   * <p>Never kept are what may be gone next time: a run in which the database gave any error, one
   * over its {@link #timeLimit}, {@link dev.pigeonhole.store.StoreException}, {@link
   * RetryLaterException}, {@link InterruptedException} and everything that is no {@link Exception}.
   */
  @SafeVarargs
  public final GuardBuilder keepFailures(Class<? extends Exception>... types) {
    draft.keptFailures.addAll(List.of(types));
    return this;
  }

  /**
   * How long receipts of this guard are kept, at least: a repeat that comes later is run again. The
   * time is written into each receipt, and neither an inbox nor another guard on the same tables
   * forgets it earlier; a time that is changed holds for what runs from then on. Receipts are
   * looked through after every twentieth of it, an hour at most, by one node at a time. Default 7
   * days.
   */
  public GuardBuilder keepReceipts(Duration time) {
    draft.keepReceipts = time;
    return this;
  }

  /**
   * Forgets nothing but answers, after {@link #keepAnswers}; and neither does an inbox or another
   * guard on the same tables.
   */
  public GuardBuilder keepReceiptsForEver() {
    draft.keepReceipts = null;
    return this;
  }

  /**
   * What happens without a key. Default {@link OnMissingKey#REJECT}; {@link
   * OnMissingKey#HASH_CONTENT} takes the request, or the message that should have named one.
   */
  public GuardBuilder missingKey(OnMissingKey policy) {
    draft.missingKey = policy;
    return this;
  }

  /**
   * Where bodies publish: an outbox in the same database, so that what they publish commits with
   * their receipts. Default none.
   */
  public GuardBuilder outbox(Publisher outbox) {
    draft.outbox = outbox;
    return this;
  }

  /** Is told of every event. May be given several times. */
  public GuardBuilder listener(InboxListener listener) {
    draft.listeners.add(listener);
    return this;
  }

  /**
   * Checks the options, then the database, then whose tables they are, and answers the guard.
   *
   * @throws ConfigurationException with every problem of the first step that finds any
   * @throws dev.pigeonhole.store.StoreException if the database cannot be reached
   */
  public Guard build() {
    return DefaultGuard.open(store, draft);
  }
}
