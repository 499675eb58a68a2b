package dev.pigeonhole.internal.lifecycle;

import dev.pigeonhole.event.InboxEvent;
import dev.pigeonhole.internal.dispatch.Events;
import dev.pigeonhole.internal.registry.Faults;
import dev.pigeonhole.store.StoreException;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A thread that does one thing again and again, and survives whatever it throws. A store that
 * cannot be reached is waited for; anything else is a bug, told and followed by a fresh start after
 * the restart delay.
 */
final class Loop {
  /** One round. */
  interface Turn {
    void run() throws InterruptedException;
  }

  private static final Logger LOG = LoggerFactory.getLogger(Loop.class);
  private static final Duration AFTER_STORE_ERROR = Duration.ofMillis(200);

  private final String role;
  private final Turn turn;
  private final Runnable recover;
  private final Duration restartDelay;
  private final Events events;
  private final Consumer<Throwable> fatal;
  private final Thread thread;
  private volatile boolean stopped;
  private volatile long lastGoodTurn = System.nanoTime();
  private boolean storeDown; // the loop's own thread alone

  /**
   * @param recover called before the fresh start that follows whatever ended a turn
   * @param fatal is told of errors that no fresh start mends
   */
  Loop(
      String inbox,
      String role,
      Turn turn,
      Runnable recover,
      Duration restartDelay,
      Events events,
      Consumer<Throwable> fatal) {
    this.role = role;
    this.turn = turn;
    this.recover = recover;
    this.restartDelay = restartDelay;
    this.events = events;
    this.fatal = fatal;
    this.thread = Threads.loop(inbox, role, this::run);
  }

  void start() {
    lastGoodTurn = System.nanoTime();
    thread.start();
  }

  boolean alive() {
    return thread.isAlive();
  }

  /** Whether it has completed a turn within this time, or has not begun so long ago. */
  boolean advancesWithin(Duration limit) {
    return System.nanoTime() - lastGoodTurn < limit.toNanos();
  }

  /**
   * Ends the loop after its present turn, without waiting for that.
   *
   * @param interrupting whether to interrupt the turn, which does harm in some stores
   */
  void end(boolean interrupting) {
    stopped = true;
    if (interrupting) {
      thread.interrupt();
    }
  }

  /**
   * Waits until the loop has ended, but not beyond this time; answers whether it has. An interrupt
   * does not end the wait.
   */
  boolean awaitEnd(long deadlineNanos) {
    if (thread != Thread.currentThread()) {
      Uninterrupted.await(deadlineNanos, left -> join(thread, left));
    }
    return !thread.isAlive();
  }

  private static boolean join(Thread thread, long nanos) throws InterruptedException {
    TimeUnit.NANOSECONDS.timedJoin(thread, nanos);
    return !thread.isAlive();
  }

  @Override
  public String toString() {
    return role;
  }

  private void run() {
    while (!stopped) {
      try {
        turn.run();
        lastGoodTurn = System.nanoTime();
        if (storeDown) {
          storeDown = false;
          LOG.info("The {} of inbox {} reaches the store again", role, events.inbox());
        }
      } catch (StoreException e) {
        OutOfMemoryError noMemory = Faults.outOfMemory(e);
        if (noMemory != null) {
          giveUp(noMemory);
          continue;
        }
        if (!storeDown) {
          storeDown = true;
          LOG.warn("The {} of inbox {} waits for the store", role, events.inbox(), e);
        }
        pause(AFTER_STORE_ERROR);
        recover();
      } catch (InterruptedException e) {
        // Nobody has a reason to interrupt our own threads; go on unless we were told to stop.
      } catch (OutOfMemoryError e) {
        giveUp(e);
      } catch (Throwable e) {
        restart(e);
      }
    }
  }

  private void giveUp(OutOfMemoryError error) {
    tellFatal(error);
    pause(restartDelay);
    recover();
  }

  /** Where there is no memory for another thread there may be none for whoever is to stop us. */
  private void tellFatal(OutOfMemoryError error) {
    try {
      fatal.accept(error);
    } catch (Throwable e) {
      LOG.error("The {} of inbox {} could not stop the node", role, events.inbox(), e);
    }
  }

  private void restart(Throwable cause) {
    try {
      LOG.error(
          "The {} of inbox {} failed and starts again in {}",
          role,
          events.inbox(),
          restartDelay,
          cause);
      events.tell(new InboxEvent.Restarted(events.inbox(), role, cause));
    } catch (Throwable e) {
      LOG.error("The {} of inbox {} could not tell that it failed", role, events.inbox(), e);
    }
    pause(restartDelay);
    recover();
  }

  private void recover() {
    try {
      recover.run();
    } catch (Throwable e) {
      LOG.error("The {} of inbox {} failed while starting again", role, events.inbox(), e);
    }
  }

  private void pause(Duration delay) {
    long end = System.nanoTime() + delay.toNanos();
    while (!stopped) {
      long left = end - System.nanoTime();
      if (left <= 0) {
        return;
      }
      try {
        TimeUnit.NANOSECONDS.sleep(Math.min(left, TimeUnit.MILLISECONDS.toNanos(50)));
      } catch (InterruptedException e) {
        return;
      }
    }
  }
}
