package dev.pigeonhole.support;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * A server that cannot outlive this JVM. It is the child of a small shell script, the watchdog,
 * which reads from a pipe that only this JVM holds open. When the JVM ends in whatever way, {@code
 * kill -9} included, the pipe reports its end, and the watchdog stops the server and deletes its
 * directory.
 *
 * <p>The watchdog has its own session, so that Ctrl-C in a terminal reaches the JVM alone.
 */
final class ServerProcess {

  private static final String WATCHDOG =
      """
      home=$1; signal=$2; shift 2
      exec 3<&0 </dev/null
      "$@" 3<&- >>"$home/server.log" 2>&1 &
      server=$!
      echo "$server"
      (
        read -r line <&3
        : >"$home/orphaned"
        kill -s "$signal" "$server"
        kill -s CONT "$server"
        sleep 10
        kill -s KILL "$server"
      ) >/dev/null 2>&1 &
      guard=$!
      wait "$server"
      code=$?
      kill "$guard" 2>/dev/null
      if [ -e "$home/orphaned" ]; then rm -rf "$home"; fi
      exit "$code"
      """;

  private static final Duration DEATH_LIMIT = Duration.ofMinutes(3);

  private final Process watchdog;
  private final Path home;
  private final long pid;

  private ServerProcess(Process watchdog, Path home, long pid) {
    this.watchdog = watchdog;
    this.home = home;
    this.pid = pid;
  }

  /**
   * Starts the command.
   *
   * @param home receives {@code server.log} and is deleted when the JVM dies without cleaning up
   * @param whenOrphaned what the watchdog sends first; SIGKILL follows after ten seconds
   */
  static ServerProcess start(Path home, Signal whenOrphaned, List<String> command) {
    List<String> guarded = new ArrayList<>(List.of("setsid", "sh", "-c", WATCHDOG, "watchdog"));
    guarded.add(home.toString());
    guarded.add(whenOrphaned.name());
    guarded.addAll(command);
    try {
      Process watchdog =
          new ProcessBuilder(guarded).redirectError(home.resolve("watchdog.log").toFile()).start();
      BufferedReader answers =
          new BufferedReader(
              new InputStreamReader(watchdog.getInputStream(), StandardCharsets.US_ASCII));
      String pid = answers.readLine();
      if (pid == null) {
        throw new IllegalStateException("The watchdog of " + command.get(0) + " did not start");
      }
      return new ServerProcess(watchdog, home, Long.parseLong(pid));
    } catch (IOException e) {
      throw new UncheckedIOException("Cannot start " + command.get(0), e);
    }
  }

  long pid() {
    return pid;
  }

  boolean isAlive() {
    return watchdog.isAlive();
  }

  void signal(Signal signal) {
    signal.send(pid);
  }

  /**
   * Stops the server alone. Its children go on: if this JVM is killed now, the watchdog kills the
   * server, and whoever waits for a word of it has to be awake to notice.
   */
  void pause() {
    Signal.STOP.send(pid);
  }

  /** The server stops first, so that it starts no further children while we count them. */
  void pauseTree() {
    Signal.STOP.send(pid);
    Signal.STOP.send(descendants());
  }

  void resume() {
    Signal.CONT.send(descendants());
    Signal.CONT.send(pid);
  }

  /**
   * Kills the server and all its children at once and returns when the last one is gone: a
   * PostgreSQL refuses to start again while a backend of its former life holds the shared memory.
   */
  void killTree() {
    Signal.STOP.send(pid);
    List<Long> tree = descendants();
    tree.add(pid);
    Signal.KILL.send(tree);
    awaitExit(DEATH_LIMIT);
    Eventually.until(
        "processes " + tree + " to be gone",
        DEATH_LIMIT,
        () -> tree.stream().allMatch(ServerProcess::isGone));
  }

  /** Whether it ends within this time, if it is told to; it may have been paused. */
  boolean endsOn(Signal signal, Duration limit) {
    signal(signal);
    resume();
    try {
      return watchdog.waitFor(limit.toMillis(), TimeUnit.MILLISECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    }
  }

  void awaitExit(Duration limit) {
    try {
      if (!watchdog.waitFor(limit.toMillis(), TimeUnit.MILLISECONDS)) {
        throw new AssertionError("Process " + pid + " is still alive after " + limit);
      }
      watchdog.getOutputStream().close();
      watchdog.getInputStream().close();
    } catch (IOException e) {
      // The pipe of a dead process; there is nothing left to close.
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("Interrupted while waiting for process " + pid, e);
    }
  }

  /** The last lines that the server wrote, for messages about a start that failed. */
  String logTail() {
    try {
      List<String> lines = Files.readAllLines(home.resolve("server.log"));
      return String.join("\n", lines.subList(Math.max(0, lines.size() - 20), lines.size()));
    } catch (IOException e) {
      return "(no log: " + e + ")";
    }
  }

  private List<Long> descendants() {
    List<Long> pids = new ArrayList<>();
    ProcessHandle.of(pid)
        .ifPresent(server -> server.descendants().forEach(child -> pids.add(child.pid())));
    return pids;
  }

  /** A zombie counts as gone. {@link ProcessHandle#isAlive} says that it lives. */
  static boolean isGone(long pid) {
    try {
      String stat = Files.readString(Path.of("/proc/" + pid + "/stat"));
      char state = stat.charAt(stat.lastIndexOf(')') + 2);
      return state == 'Z' || state == 'X';
    } catch (IOException e) {
      return true;
    }
  }
}
