package dev.pigeonhole.examples.demo;

import dev.pigeonhole.support.JavaProcess;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;

/** Processes of one kind: started together, and each replaced when it is killed. */
final class Fleet implements AutoCloseable {

  /** What a process prints when it has begun with its work. */
  static final String READY = "ready";

  private static final Duration STOP_LIMIT = Duration.ofSeconds(45);

  private final String kind;
  private final Supplier<JavaProcess> launcher;
  private final List<JavaProcess> processes = new ArrayList<>(); // also the monitor of `closed`
  private boolean closed;

  /**
   * @param kind what to call one of them, with its article
   */
  Fleet(String kind, Supplier<JavaProcess> launcher) {
    this.kind = kind;
    this.launcher = launcher;
  }

  void start(int count) {
    synchronized (processes) {
      for (int i = 0; i < count && !closed; i++) {
        processes.add(launcher.get());
      }
    }
  }

  /** Any of them. */
  JavaProcess pick(RandomGenerator dice) {
    synchronized (processes) {
      return processes.get(dice.nextInt(processes.size()));
    }
  }

  /** Kills one without a warning and starts another one in its place. */
  void kill(JavaProcess victim) {
    synchronized (processes) {
      if (!closed) {
        victim.kill9();
        processes.set(processes.indexOf(victim), launcher.get());
      }
    }
  }

  /** Fails if one has ended that nobody killed. */
  void checkAlive() {
    synchronized (processes) {
      for (JavaProcess process : processes) {
        if (!closed && !process.isAlive()) {
          List<String> output = process.output();
          throw new IllegalStateException(
              "%s ended by itself with exit code %d:%n%s"
                  .formatted(
                      kind,
                      process.exitCode(),
                      String.join(
                          "\n", output.subList(Math.max(0, output.size() - 40), output.size()))));
        }
      }
    }
  }

  /** Lets all of them end in order. */
  void stop() {
    synchronized (processes) {
      processes.forEach(JavaProcess::terminate);
      processes.forEach(process -> process.waitFor(STOP_LIMIT));
      closed = true;
    }
  }

  @Override
  public void close() {
    synchronized (processes) {
      closed = true;
      processes.forEach(JavaProcess::kill9);
    }
  }
}
