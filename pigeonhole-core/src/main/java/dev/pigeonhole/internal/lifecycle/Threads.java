package dev.pigeonhole.internal.lifecycle;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * Makes threads. Loops are named {@code pigeonhole-<inbox>-<role>}, workers and the timer {@code
 * pigeonhole-<inbox>-<role>-<n>}; virtual threads have no name.
 */
final class Threads {
  private Threads() {}

  static Thread loop(String inbox, String role, Runnable loop) {
    Thread thread = new Thread(loop, "pigeonhole-" + inbox + "-" + role);
    thread.setDaemon(false);
    return thread;
  }

  /** A thread that keeps no process alive. */
  static Thread daemon(String inbox, String role, Runnable task) {
    Thread thread = new Thread(task, "pigeonhole-" + inbox + "-" + role);
    thread.setDaemon(true);
    return thread;
  }

  /** Virtual threads where the JVM has them; slots, not threads, limit what runs. */
  static ExecutorService workers(String inbox) {
    ExecutorService virtual = virtualThreads();
    return virtual != null ? virtual : Executors.newCachedThreadPool(factory(inbox, "worker"));
  }

  static ScheduledThreadPoolExecutor timer(String inbox) {
    ScheduledThreadPoolExecutor timer = new ScheduledThreadPoolExecutor(1, factory(inbox, "timer"));
    timer.setRemoveOnCancelPolicy(true);
    return timer;
  }

  private static ThreadFactory factory(String inbox, String role) {
    AtomicInteger count = new AtomicInteger();
    return task -> {
      Thread thread =
          new Thread(task, "pigeonhole-" + inbox + "-" + role + "-" + count.incrementAndGet());
      thread.setDaemon(true);
      return thread;
    };
  }

  /** Looked up by name: this library also runs on Java 17, which does not have them. */
  private static @Nullable ExecutorService virtualThreads() {
    try {
      MethodHandle make =
          MethodHandles.publicLookup()
              .findStatic(
                  Executors.class,
                  "newVirtualThreadPerTaskExecutor",
                  MethodType.methodType(ExecutorService.class));
      return (ExecutorService) make.invoke();
    } catch (NoSuchMethodException | IllegalAccessException e) {
      return null;
    } catch (Throwable e) {
      throw new IllegalStateException("virtual threads cannot be made", e);
    }
  }
}
