package dev.pigeonhole.internal.dispatch;

import dev.pigeonhole.store.Delivery;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Deliveries that may have killed their node: rows found marked by a dead incarnation. Each runs
 * alone, in random order, so that if the process dies again the mark tells who did it.
 *
 * <p>While suspects wait the node is <em>quiet</em>: nothing else is started, and the first suspect
 * runs when everything that had begun has ended. An attempt that takes for ever ends the quiet for
 * a while, because a whole node must not rest for a suspect's sake; each quiet in vain doubles the
 * time until the next one.
 *
 * <p>Touched by the dispatcher's thread alone, but for {@link #quiet()}.
 */
final class Suspects {
  static final Duration QUIET_AT_MOST = Duration.ofSeconds(30);
  static final Duration FIRST_PAUSE = Duration.ofMinutes(1);
  static final Duration LONGEST_PAUSE = Duration.ofHours(1);

  private static final long QUIET_NANOS = QUIET_AT_MOST.toNanos();

  private final BooleanSupplier nothingRuns;
  private final LongSupplier nanos;
  private final List<Delivery> waiting = new ArrayList<>();
  private volatile boolean quiet;
  private @Nullable Delivery alone;
  private long aloneSince;
  private long quietSince;
  private long quietAgain;
  private Duration pause = FIRST_PAUSE;

  /**
   * @param nothingRuns whether every attempt that has begun is settled
   * @param nanos a clock that never goes back
   */
  Suspects(BooleanSupplier nothingRuns, LongSupplier nanos) {
    this.nothingRuns = nothingRuns;
    this.nanos = nanos;
    this.quietAgain = nanos.getAsLong();
  }

  void add(Delivery row) {
    waiting.add(row);
  }

  /** While true nothing may be started but the one suspect. Asked by any thread. */
  boolean quiet() {
    return quiet;
  }

  /** The suspect whose turn it is, with nothing beside it; null while there is none. */
  @Nullable Delivery next() {
    if (!quiet && !waiting.isEmpty() && nanos.getAsLong() - quietAgain >= 0) {
      quiet = true;
    }
    if (alone != null && quiet && nanos.getAsLong() - aloneSince > QUIET_NANOS) {
      alone = null; // it takes its time, and has not taken the process with it
      goOnForNow();
    }
    if (!quiet || alone != null) {
      return null;
    }
    if (waiting.isEmpty()) {
      endQuiet();
      return null;
    }
    if (!nothingRuns.getAsBoolean()) {
      giveUpQuietForNow(); // else the end of each is news, which brings the next turn
      return null;
    }
    alone = waiting.remove(ThreadLocalRandom.current().nextInt(waiting.size()));
    aloneSince = nanos.getAsLong();
    quietSince = 0;
    return alone;
  }

  private void giveUpQuietForNow() {
    long now = nanos.getAsLong();
    if (quietSince == 0) {
      quietSince = now;
    } else if (now - quietSince > QUIET_NANOS) {
      goOnForNow();
    }
  }

  private void goOnForNow() {
    quietAgain = nanos.getAsLong() + pause.toNanos();
    Duration twice = pause.multipliedBy(2);
    pause = twice.compareTo(LONGEST_PAUSE) < 0 ? twice : LONGEST_PAUSE;
    endQuiet();
  }

  private void endQuiet() {
    quietSince = 0;
    quiet = false;
  }

  /** The row's attempt is over, whatever came of it. */
  void ended(Delivery row) {
    if (row.equals(alone)) {
      alone = null;
      pause = FIRST_PAUSE; // it was worth the quiet
    }
  }

  /** Takes back those that have not begun. */
  List<Delivery> withdraw(Predicate<Delivery> which) {
    List<Delivery> withdrawn = waiting.stream().filter(which).toList();
    waiting.removeAll(withdrawn);
    return withdrawn;
  }

  /** Stays quiet only for a suspect that is running. */
  void quietOnlyForTheRunning() {
    quiet = alone != null;
    quietSince = 0;
  }

  /** Forgets everything but a suspect that is among these. */
  void reset(Collection<Delivery> handed) {
    waiting.clear();
    if (alone != null && !handed.contains(alone)) {
      alone = null;
    }
    quiet = alone != null;
    quietSince = 0;
  }
}
