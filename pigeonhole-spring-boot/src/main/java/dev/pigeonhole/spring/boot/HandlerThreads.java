package dev.pigeonhole.spring.boot;

import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.spring.boot.PigeonholeProperties.Threads;
import java.util.Optional;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.thread.Threading;
import org.springframework.core.env.Environment;
import org.springframework.scheduling.concurrent.CustomizableThreadFactory;

/**
 * What runs handlers. No bean of {@link Executor} itself: Spring Boot would take it for that of the
 * application, and would not make its own.
 */
final class HandlerThreads implements AutoCloseable {
  private static final int FIRST_WITH_VIRTUAL_THREADS = 21;

  private final @Nullable ExecutorService pool;

  private HandlerThreads(@Nullable ExecutorService pool) {
    this.pool = pool;
  }

  static HandlerThreads of(Threads threads, Environment environment) {
    boolean possible = Runtime.version().feature() >= FIRST_WITH_VIRTUAL_THREADS;
    if (threads == Threads.VIRTUAL && !possible) {
      throw new ConfigurationException(
          ErrorCode.OPTION_NOT_APPLICABLE,
          "pigeonhole.inbox.threads is virtual, and this is Java %d. Use Java 21 or later, or auto."
              .formatted(Runtime.version().feature()));
    }
    boolean virtual =
        threads == Threads.VIRTUAL
            || threads == Threads.AUTO && Threading.VIRTUAL.isActive(environment);
    // The engine itself takes virtual threads wherever there are any.
    return new HandlerThreads(
        virtual || !possible
            ? null
            : Executors.newCachedThreadPool(new CustomizableThreadFactory("pigeonhole-handler-")));
  }

  /** Empty: what the engine takes by itself. */
  Optional<Executor> executor() {
    return Optional.ofNullable(pool);
  }

  @Override
  public void close() {
    if (pool != null) {
      pool.shutdown();
    }
  }
}
