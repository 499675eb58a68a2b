package dev.pigeonhole.spring.boot;

import dev.pigeonhole.RunningInbox;
import dev.pigeonhole.spring.PigeonholeLifecycle;
import java.time.Duration;
import java.util.Set;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Starts an inbox or an outbox, any number of times, and remembers what it has started last. */
final class LatestRun {
  /** Of engines that cannot be told another. */
  static final Duration RESTART_DELAY = Duration.ofSeconds(5);

  private final String kind;
  private final String name;
  private final Duration restartDelay;
  private final Supplier<RunningInbox> starter;
  private volatile @Nullable RunningInbox latest;

  LatestRun(String kind, String name, Duration restartDelay, Supplier<RunningInbox> starter) {
    this.kind = kind;
    this.name = name;
    this.restartDelay = restartDelay;
    this.starter = starter;
  }

  PigeonholeLifecycle lifecycle(boolean automatic) {
    PigeonholeLifecycle lifecycle = PigeonholeLifecycle.of(name, this::start);
    return automatic ? lifecycle : lifecycle.onDemand();
  }

  private RunningInbox start() {
    RunningInbox running = starter.get();
    latest = running;
    return running;
  }

  boolean isOf(String kind, String name) {
    return this.kind.equals(kind) && this.name.equals(name);
  }

  /** How long a loop that failed rests. */
  Duration restartDelay() {
    return restartDelay;
  }

  /** Whether it runs as it should; before the first start, true. */
  boolean working() {
    RunningInbox running = latest;
    return running == null || running.healthy();
  }

  /** Names of sources that do not receive at present. */
  Set<String> sourcesInTrouble() {
    RunningInbox running = latest;
    return running == null ? Set.of() : running.sourceTroubles().keySet();
  }
}
