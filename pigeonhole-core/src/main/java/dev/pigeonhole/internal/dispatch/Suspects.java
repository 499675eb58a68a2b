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
 * Deliveries that may have killed their node: rows marked by a dead incarnation. Each runs alone,
 * in random order, so that if the process dies again the mark identifies the delivery.
 *
 * <p>Suspects run in a <em>quiet</em>: nothing else is started, and the first suspect runs when
 * everything that had begun has ended. A quiet tries suspects for {@link #TURN}, at least one of
 * them, and then gives the other deliveries twice the time that it took from them. So a node with
 * many suspects still runs other deliveries.
 *
 * <p>Neither the attempts that must end first nor a suspect that runs alone may keep a node quiet
 * for longer than {@link #LIMIT}. If a quiet ends before any suspect could run, each such quiet
 * doubles the time until the next one.
 *
 * <p>A suspect that another death would poison has {@link #LAST_LIMIT}. If the process died after
 * other deliveries had started beside it, it would be poisoned although any of them may be the
 * cause.
 *
 * <p>Touched by the dispatcher's thread alone, but for {@link #quiet()}.
 */
final class Suspects {
  /** A quiet starts no other suspect after this time. */
  static final Duration TURN = Duration.ofSeconds(2);

  /** For the attempts that must end first, and for a suspect that runs alone. */
  static final Duration LIMIT = Duration.ofSeconds(10);

  /** For a suspect that is poisoned if the process dies once more. */
  static final Duration LAST_LIMIT = Duration.ofMinutes(5);

  /** After a quiet in which no suspect could run. */
  static final Duration FIRST_PAUSE = Duration.ofMinutes(1);

  static final Duration LONGEST_PAUSE = Duration.ofHours(1);

  /** After a quiet the other deliveries have this many times its length. */
  private static final int SHARE_OF_OTHERS = 2;

  private final int maxCrashes;
  private final BooleanSupplier nothingRuns;
  private final LongSupplier nanos;
  private final List<Delivery> waiting = new ArrayList<>();
  private volatile boolean quiet;
  private @Nullable Delivery alone;
  private long aloneSince;
  private long quietSince;
  private boolean tried; // a suspect, in this quiet
  private long quietAgain;
  private Duration pause = FIRST_PAUSE;

  /**
   * @param maxCrashes after so many deaths a suspect is poisoned
   * @param nothingRuns whether every attempt that has begun is settled
   * @param nanos a clock that never goes back
   */
  Suspects(int maxCrashes, BooleanSupplier nothingRuns, LongSupplier nanos) {
    this.maxCrashes = maxCrashes;
    this.nothingRuns = nothingRuns;
    this.nanos = nanos;
    this.quietAgain = nanos.getAsLong();
  }

  void add(Delivery row) {
    waiting.add(row);
  }

  /** While true, only the one suspect may be started. Any thread may call this. */
  boolean quiet() {
    return quiet;
  }

  /**
   * Counts the suspects that are still to be tried. Returns 0 while attempts that do not end keep
   * every suspect from running, because the callers wait for a lower number and would wait as long.
   */
  int untried(Predicate<Delivery> which) {
    if (pause.compareTo(FIRST_PAUSE) > 0) {
      return 0;
    }
    Delivery running = alone;
    long waits = waiting.stream().filter(which).count();
    return (int) waits + (running != null && which.test(running) ? 1 : 0);
  }

  /** The suspect whose turn it is, with nothing beside it; null while there is none. */
  @Nullable Delivery next() {
    long now = nanos.getAsLong();
    if (!quiet && !waiting.isEmpty() && now - quietAgain >= 0) {
      quiet = true;
      quietSince = now;
      tried = false;
    }
    if (!quiet) {
      return null;
    }
    if (alone != null) {
      Duration limit = alone.crashes() + 1 < maxCrashes ? LIMIT : LAST_LIMIT;
      if (now - aloneSince > limit.toNanos()) {
        alone = null; // it is slow, and has not killed the process so far
        endQuiet(now, Duration.ZERO);
      }
      return null;
    }
    if (waiting.isEmpty() || (tried && now - quietSince > TURN.toNanos())) {
      endQuiet(now, Duration.ZERO);
      return null;
    }
    if (!nothingRuns.getAsBoolean()) {
      if (!tried && now - quietSince > LIMIT.toNanos()) {
        endQuiet(now, pause);
        Duration twice = pause.multipliedBy(2);
        pause = twice.compareTo(LONGEST_PAUSE) < 0 ? twice : LONGEST_PAUSE;
      }
      return null;
    }
    alone = waiting.remove(ThreadLocalRandom.current().nextInt(waiting.size()));
    aloneSince = now;
    tried = true;
    pause = FIRST_PAUSE;
    return alone;
  }

  /**
   * Ends the time of the other deliveries, if a suspect waits for its end: used when driven by
   * hand, where all of them have run by then. False if none waits for that.
   */
  boolean tryNow() {
    if (quiet || waiting.isEmpty()) {
      return false;
    }
    quietAgain = nanos.getAsLong();
    return true;
  }

  private void endQuiet(long now, Duration atLeast) {
    quiet = false;
    quietAgain = now + Math.max(SHARE_OF_OTHERS * (now - quietSince), atLeast.toNanos());
  }

  /** The attempt of this row is over, with whatever outcome. */
  void ended(Delivery row) {
    if (row.equals(alone)) {
      alone = null;
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
    quiet = quiet && alone != null;
  }

  /**
   * Forgets everything except a running suspect that is among these. If a suspect has caused the
   * reset, other deliveries run before it is tried again.
   */
  void reset(Collection<Delivery> handed) {
    waiting.clear();
    if (alone != null && !handed.contains(alone)) {
      alone = null;
    }
    if (quiet && alone == null) {
      endQuiet(nanos.getAsLong(), TURN);
    }
  }
}
