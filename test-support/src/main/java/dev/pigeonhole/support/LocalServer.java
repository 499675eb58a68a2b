package dev.pigeonhole.support;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** What all servers share: one home directory, one port, and one process after another. */
abstract class LocalServer implements AutoCloseable {

  private static final Duration START_LIMIT = Duration.ofMinutes(3);
  private static final Duration STOP_LIMIT = Duration.ofMinutes(3);
  private static final Duration QUIT_LIMIT = Duration.ofSeconds(5);
  private static final int ATTEMPTS_TO_FIND_A_PORT = 5;

  private final Path home;
  private final Signal whenOrphaned;
  private final Runnable cleanup = this::destroy;
  private volatile boolean shared;
  private volatile int port;
  private @Nullable ServerProcess process;

  LocalServer(String directory, Signal whenOrphaned) {
    this.home = Scratch.directory(directory);
    this.whenOrphaned = whenOrphaned;
  }

  /** What to call it in messages. */
  abstract String title();

  /** Prepares the home directory, once. */
  void initialise() {}

  /** The server in the foreground, on the current port. */
  abstract List<String> command();

  /** Whether the server has started: it does what it is asked for. */
  abstract boolean answers();

  /** How long a start may take; a machine that does much else is slow, and nothing is wrong. */
  Duration startLimit() {
    return START_LIMIT;
  }

  /** Whether its children answer as well, so that a pause has to reach them too. */
  boolean answersThroughChildren() {
    return false;
  }

  final void initialiseAndLaunch() {
    AtExit.add(cleanup);
    try {
      initialise();
      launchOnFreePort();
    } catch (RuntimeException | AssertionError e) {
      destroy();
      throw e;
    }
  }

  private void launchOnFreePort() {
    for (int attempt = 1; ; attempt++) {
      port = Ports.free();
      try {
        launch();
        return;
      } catch (IllegalStateException e) {
        // Most likely somebody else took the port between our look and the start.
        if (attempt == ATTEMPTS_TO_FIND_A_PORT) {
          throw e;
        }
      }
    }
  }

  private void launch() {
    ServerProcess started = ServerProcess.start(home, whenOrphaned, command());
    process = started;
    try {
      Eventually.until(title() + " to start", startLimit(), () -> !started.isAlive() || answers());
    } catch (AssertionError e) {
      throw new AssertionError(
          "%s runs, but does not answer yet: the machine may be busy. %s. Its log ends with:\n%s"
              .formatted(title(), e.getMessage(), started.logTail()),
          e);
    }
    if (!started.isAlive()) {
      throw new IllegalStateException(title() + " ended at once:\n" + started.logTail());
    }
  }

  /** Runs a program that prepares the home directory. */
  static void runToEnd(List<String> command) {
    try {
      Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
      process.getOutputStream().close();
      String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
      if (process.waitFor() != 0) {
        throw new IllegalStateException(String.join(" ", command) + " failed:\n" + output);
      }
    } catch (IOException e) {
      throw new UncheckedIOException("Cannot run " + command.get(0), e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("Interrupted while running " + command.get(0), e);
    }
  }

  final Path home() {
    return home;
  }

  public final synchronized long pid() {
    return latest().pid();
  }

  public final int port() {
    return port;
  }

  final synchronized void stop(Signal signal) {
    ServerProcess running = latest();
    running.signal(signal);
    running.awaitExit(STOP_LIMIT);
  }

  /** Kills every process of the server at once, without a warning. */
  public final synchronized void crash() {
    latest().killTree();
  }

  /** Starts the server again on the same port, with what it has on disk; crashes it if it runs. */
  public final synchronized void restart() {
    if (latest().isAlive()) {
      crash();
    }
    launch();
  }

  /** Freezes the server: connections stay open, and nobody answers. */
  public final synchronized void pause() {
    if (answersThroughChildren()) {
      latest().pauseTree();
    } else {
      latest().pause();
    }
  }

  public final synchronized void resume() {
    latest().resume();
  }

  /** From now on only the end of the JVM ends the server. */
  final void keep() {
    shared = true;
  }

  /** Does nothing to a shared server: JUnit closes every argument of a test that it can close. */
  @Override
  public final void close() {
    if (!shared) {
      destroy();
    }
  }

  private synchronized void destroy() {
    AtExit.remove(cleanup);
    if (process != null && process.isAlive()) {
      // Killed at once, a PostgreSQL would leave its shared memory behind, which nobody else finds.
      if (whenOrphaned != Signal.QUIT || !process.endsOn(whenOrphaned, QUIT_LIMIT)) {
        process.killTree();
      }
    }
    if (Files.exists(home)) {
      Scratch.delete(home);
    }
  }

  @Override
  public final String toString() {
    return title() + " on port " + port;
  }

  private ServerProcess latest() {
    if (process == null) {
      throw new IllegalStateException("The server was never started");
    }
    return process;
  }
}
