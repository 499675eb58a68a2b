package dev.pigeonhole.spring;

import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.context.SmartLifecycle;

/**
 * Starts and stops an inbox, an outbox, or whatever else can be closed, with its context: after all
 * beans are there, and while all of them are still there.
 *
 * <pre>{@code
 * @Bean
 * PigeonholeLifecycle running(Inbox inbox) {
 *   return PigeonholeLifecycle.of(inbox.name(), inbox::start);
 * }
 * }</pre>
 *
 * <p>Listener containers of brokers stop before it, and a web server after it. Stopping takes as
 * long as running attempts take, the inbox's {@code stopGrace} plus 2 s at most, whatever the
 * database does. If that is more than {@code DefaultLifecycleProcessor} waits for, the rest stops
 * meanwhile; but what the inbox needs, such as its DataSource, is there until it has stopped. What
 * was stopped can be started again.
 */
public final class PigeonholeLifecycle implements SmartLifecycle, DisposableBean {
  /** Between listener containers, which end before it, and web servers. */
  public static final int PHASE = Integer.MAX_VALUE - 1000;

  private static final Logger LOG = LoggerFactory.getLogger(PigeonholeLifecycle.class);

  private final String name;
  private final Supplier<? extends AutoCloseable> starter;
  private final boolean automatic;
  private final ReentrantLock changing = new ReentrantLock();

  /** Written under the lock; read without it, for nobody should wait for a stop to ask for it. */
  private volatile @Nullable AutoCloseable running;

  private PigeonholeLifecycle(
      String name, Supplier<? extends AutoCloseable> starter, boolean automatic) {
    this.name = name;
    this.starter = starter;
    this.automatic = automatic;
  }

  /**
   * Starts with the context.
   *
   * @param name for its thread and its log lines
   * @param starter such as {@code inbox::start}; called for each start
   */
  public static PigeonholeLifecycle of(String name, Supplier<? extends AutoCloseable> starter) {
    return new PigeonholeLifecycle(name, starter, true);
  }

  /** The same, but waits for somebody to call {@link #start}. */
  public PigeonholeLifecycle onDemand() {
    return new PigeonholeLifecycle(name, starter, false);
  }

  @Override
  public void start() {
    changing.lock();
    try {
      if (running == null) {
        running = starter.get();
      }
    } finally {
      changing.unlock();
    }
  }

  @Override
  public void stop() {
    changing.lock();
    try {
      AutoCloseable current = running;
      if (current != null) {
        current.close();
      }
    } catch (Exception e) {
      LOG.warn("{} did not stop as it should", name, e);
    } finally {
      running = null;
      changing.unlock();
    }
  }

  /** In a thread of its own, so that several stop side by side and Spring can keep its time. */
  @Override
  public void stop(Runnable callback) {
    Thread stopping =
        new Thread(
            () -> {
              try {
                stop();
              } finally {
                callback.run();
              }
            },
            "pigeonhole-" + name + "-stop");
    stopping.start();
  }

  /** Waits for a stop that Spring has lost its patience with. */
  @Override
  public void destroy() {
    stop();
  }

  @Override
  public boolean isRunning() {
    return running != null;
  }

  @Override
  public boolean isAutoStartup() {
    return automatic;
  }

  @Override
  public int getPhase() {
    return PHASE;
  }
}
