package dev.pigeonhole.support;

import java.util.ArrayDeque;
import java.util.Deque;
import org.jspecify.annotations.Nullable;

/**
 * Runs what is left to clean up when the JVM ends, by Ctrl-C too, youngest first: a child process
 * goes before the server that it talks to.
 */
public final class AtExit {

  private static final Deque<Runnable> ACTIONS = new ArrayDeque<>();
  private static volatile Runnable first = () -> {};

  static {
    Runtime.getRuntime().addShutdownHook(new Thread(AtExit::runAll, "test-support-at-exit"));
  }

  private AtExit() {}

  /** This runs before everything else, while all processes and servers are still there. */
  public static void first(Runnable action) {
    first = action;
  }

  static void add(Runnable action) {
    synchronized (ACTIONS) {
      ACTIONS.push(action);
    }
  }

  static void remove(Runnable action) {
    synchronized (ACTIONS) {
      ACTIONS.remove(action);
    }
  }

  private static void runAll() {
    run(first);
    for (Runnable action = next(); action != null; action = next()) {
      run(action);
    }
  }

  private static void run(Runnable action) {
    try {
      action.run();
    } catch (RuntimeException | AssertionError e) {
      System.err.println("Cleaning up failed: " + e);
    }
  }

  private static @Nullable Runnable next() {
    synchronized (ACTIONS) {
      return ACTIONS.poll();
    }
  }
}
