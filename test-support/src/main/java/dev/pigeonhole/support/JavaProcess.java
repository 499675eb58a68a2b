package dev.pigeonhole.support;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * A child JVM, on the class path of this one unless it is given another, to be killed, paused and
 * watched. It ends with this JVM at the latest: by the shutdown hook, or, after a {@code kill -9},
 * by a small shell that notices the end of a pipe. The latter works on a paused child too; {@link
 * ParentWatch} would not.
 */
public final class JavaProcess implements AutoCloseable {

  // A grandchild may have inherited the pipe, and then it does not end with the child.
  private static final Duration OUTPUT_LIMIT = Duration.ofSeconds(20);

  private static final String GUARD = "read -r line; kill -s KILL \"$1\"";

  private final String name;
  private final Process process;
  private final Process guard;
  private final Thread reader;
  private final Runnable cleanup = this::kill9;
  private final List<String> lines = new ArrayList<>(); // also the monitor of what follows
  private boolean ended;

  private JavaProcess(String name, Process process, Process guard) {
    this.name = name;
    this.process = process;
    this.guard = guard;
    this.reader = new Thread(this::readOutput, name + "-output");
  }

  /** Describes a child that runs the main method of the class. */
  public static Builder of(Class<?> main) {
    return new Builder(main.getSimpleName(), List.of(main.getName()));
  }

  /** Describes a child that runs what the jar says, with the class path that the jar says. */
  public static Builder ofJar(Path jar) {
    return new Builder(jar.toString(), List.of("-jar", jar.toAbsolutePath().toString()));
  }

  /** The command line of a child. */
  public static final class Builder {

    private final String name;
    private final List<String> program;
    private final List<String> options = new ArrayList<>();
    private final List<String> args = new ArrayList<>();
    private String classPath = "";

    private Builder(String name, List<String> program) {
      this.name = name;
      this.program = program;
    }

    public Builder args(Object... args) {
      for (Object arg : args) {
        this.args.add(arg.toString());
      }
      return this;
    }

    /** Another class path than that of this JVM, such as the one that users have. */
    public Builder classPath(String classPath) {
      this.classPath = classPath;
      return this;
    }

    /** The largest heap, in the notation of {@code -Xmx}. */
    public Builder heap(String size) {
      options.add("-Xmx" + size);
      return this;
    }

    public Builder systemProperty(String name, String value) {
      options.add("-D" + name + "=" + value);
      return this;
    }

    /** Any other option of the JVM. */
    public Builder option(String option) {
      options.add(option);
      return this;
    }

    public JavaProcess start() {
      List<String> command = new ArrayList<>();
      command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
      // Children are many and short-lived on a small machine.
      command.add("-XX:+UseSerialGC");
      command.add("-XX:TieredStopAtLevel=1");
      if (isOnOurClassPath()) {
        command.addAll(ClassArchive.options());
      }
      command.addAll(options);
      command.addAll(program);
      command.addAll(args);
      return launch(name, command, isOnOurClassPath() ? ClassArchive.classPath() : classPath);
    }

    private boolean isOnOurClassPath() {
      return classPath.isEmpty() && !program.contains("-jar");
    }
  }

  private static JavaProcess launch(String name, List<String> command, String classPath) {
    ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
    // In the environment it may be as long as it likes.
    builder.environment().put("CLASSPATH", classPath);
    try {
      Process process = builder.start();
      Process guard =
          new ProcessBuilder("setsid", "sh", "-c", GUARD, "guard", Long.toString(process.pid()))
              .start();
      JavaProcess child = new JavaProcess(name, process, guard);
      AtExit.add(child.cleanup);
      child.reader.setDaemon(true);
      child.reader.start();
      return child;
    } catch (IOException e) {
      throw new UncheckedIOException("Cannot start " + name, e);
    }
  }

  private void readOutput() {
    try (BufferedReader reader =
        new BufferedReader(
            new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
      for (String line = reader.readLine(); line != null; line = reader.readLine()) {
        synchronized (lines) {
          lines.add(line);
          lines.notifyAll();
        }
      }
    } catch (IOException e) {
      // The pipe broke with the child.
    } finally {
      synchronized (lines) {
        ended = true;
        lines.notifyAll();
      }
      guard.destroyForcibly();
      AtExit.remove(cleanup);
    }
  }

  public long pid() {
    return process.pid();
  }

  public boolean isAlive() {
    return process.isAlive();
  }

  /** Kills the child without a warning and waits for its end. */
  public void kill9() {
    process.destroyForcibly();
    waitFor(Duration.ofMinutes(3));
  }

  /** Asks the child to end, as an orchestrator does; it runs its shutdown hooks. */
  public void terminate() {
    Signal.TERM.send(pid());
  }

  /** Freezes the child: to everybody else it looks like an endless garbage collection. */
  public void pause() {
    Signal.STOP.send(pid());
  }

  public void resume() {
    Signal.CONT.send(pid());
  }

  /**
   * Waits for the end of the child, and of its output, and returns its exit code; after a signal
   * that is 128 plus the number of the signal.
   */
  public int waitFor(Duration limit) {
    try {
      if (!process.waitFor(limit.toMillis(), TimeUnit.MILLISECONDS)) {
        throw new AssertionError(describe("is still alive after " + limit));
      }
      reader.join(OUTPUT_LIMIT.toMillis());
      return process.exitValue();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("Interrupted while waiting for " + name, e);
    }
  }

  /** The exit code of a child that has ended. */
  public int exitCode() {
    return process.exitValue();
  }

  /** Returns the first line that contains the text, printed already or within the limit. */
  public String awaitLine(String text, Duration limit) {
    return await("contains \"" + text + '"', line -> line.contains(text), limit);
  }

  /** Returns the first line that matches, printed already or within the limit. */
  public String awaitLine(Predicate<String> wanted, Duration limit) {
    return await("matches", wanted, limit);
  }

  private String await(String what, Predicate<String> wanted, Duration limit) {
    long deadline = System.nanoTime() + limit.toNanos();
    synchronized (lines) {
      int seen = 0;
      while (true) {
        String match = firstMatch(wanted, seen);
        if (match != null) {
          return match;
        }
        seen = lines.size();
        long left = deadline - System.nanoTime();
        if (ended || left <= 0) {
          throw new AssertionError(
              describe((ended ? "ended" : "ran for " + limit) + " without a line that " + what));
        }
        waitForOutput(left);
      }
    }
  }

  private @Nullable String firstMatch(Predicate<String> wanted, int from) {
    return lines.stream().skip(from).filter(wanted).findFirst().orElse(null);
  }

  private void waitForOutput(long nanos) {
    try {
      TimeUnit.NANOSECONDS.timedWait(lines, Math.max(nanos, 1_000_000));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("Interrupted while waiting for " + name, e);
    }
  }

  /** Everything that the child has printed so far, errors included. */
  public List<String> output() {
    synchronized (lines) {
      return List.copyOf(lines);
    }
  }

  private String describe(String what) {
    List<String> output = output();
    List<String> tail = output.subList(Math.max(0, output.size() - 30), output.size());
    return name
        + " (process "
        + pid()
        + ") "
        + what
        + "; its last lines:\n"
        + String.join("\n", tail);
  }

  /** Kills the child if it still lives. */
  @Override
  public void close() {
    kill9();
  }
}
