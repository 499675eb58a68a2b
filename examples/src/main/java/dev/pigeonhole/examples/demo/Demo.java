package dev.pigeonhole.examples.demo;

import dev.pigeonhole.examples.demo.Options.UsageException;
import dev.pigeonhole.examples.demo.Run.CannotStartException;
import dev.pigeonhole.support.AtExit;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Stream;

/** The demo: options, run, report. {@code ./demo --help} explains itself. */
public final class Demo {

  private static final int OK = 0;
  private static final int FAILED = 1;
  private static final int WRONG_USAGE = 2;
  private static final int CANNOT_START = 3;
  private static final int INTERRUPTED = 130;

  /** Counting takes a moment; whoever interrupts does not want to wait for long. */
  private static final int LONGEST_COUNT_SECONDS =
      Integer.getInteger("pigeonhole.demo.count-seconds", 20);

  private final Options options;
  private final PrintStream out;
  private final AtomicBoolean reported = new AtomicBoolean();
  private final CountDownLatch done = new CountDownLatch(1);
  private String remedy = "";

  private Demo(Options options) {
    this.options = options;
    this.out = options.json() ? System.err : System.out;
  }

  public static void main(String[] args) throws IOException {
    System.exit(run(args));
  }

  static int run(String... args) throws IOException {
    Options options;
    try {
      options = Options.parse(args);
    } catch (UsageException e) {
      System.err.println("demo: " + e.getMessage());
      System.err.println("Try: " + e.nearest());
      if (Arrays.asList(args).contains("--json")) {
        System.out.println(
            Report.failed(Options.DEFAULTS, Objects.toString(e.getMessage())).toJson());
      }
      return WRONG_USAGE;
    }
    if (options.help()) {
      System.out.print(Options.HELP);
      return OK;
    }
    return new Demo(options).run();
  }

  private int run() throws IOException {
    Path directory =
        Files.createTempDirectory(
            Files.createDirectories(Path.of(System.getProperty("java.io.tmpdir"))).toAbsolutePath(),
            "pigeonhole-demo-");
    // The embedded servers put their files below the same directory.
    System.setProperty("java.io.tmpdir", directory.toString());
    Progress progress = new Progress(out, isTerminal(options.json() ? "err" : "out"));
    Run run = new Run(options, directory, progress);
    Thread runner = Thread.currentThread();
    AtExit.first(() -> interrupted(run, runner, directory));

    int exit = FAILED;
    Report report;
    try {
      report = run.toReport();
      exit = report.ok() ? OK : FAILED;
    } catch (CannotStartException e) {
      report = Report.failed(options, Objects.toString(e.getMessage()));
      remedy = e.remedy();
      exit = CANNOT_START;
    } catch (Exception | AssertionError e) {
      if (!run.isInterrupted()) {
        e.printStackTrace();
      }
      report = Report.failed(options, e.toString());
    }
    if (run.isInterrupted()) {
      exit = INTERRUPTED;
      report = report.withError(Run.INTERRUPTED);
    }
    progress.clear();
    if (reported.compareAndSet(false, true)) {
      delete(directory);
      print(report, exit);
    }
    done.countDown();
    return exit;
  }

  private void print(Report report, int exit) {
    if (exit == CANNOT_START) {
      System.err.println("demo: " + report.error());
      System.err.println(remedy);
    } else if (report.rows().isEmpty()) {
      System.err.println("demo: " + report.error());
    } else {
      out.print(report.table());
    }
    if (options.json()) {
      System.out.println(report.toJson());
    }
  }

  /**
   * Runs at every end of the JVM; what it does is for those that nobody planned. The run itself
   * stops, counts and tells what there is; only if it cannot, all is torn down from here.
   */
  private void interrupted(Run run, Thread runner, Path directory) {
    if (reported.get()) {
      return;
    }
    System.err.println("interrupted");
    run.interrupt(runner);
    try {
      if (done.await(LONGEST_COUNT_SECONDS, TimeUnit.SECONDS)) {
        System.out.flush();
        Runtime.getRuntime().halt(INTERRUPTED);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    // All processes of this run are our descendants, or of a watchdog that is.
    ProcessHandle.current().descendants().forEach(ProcessHandle::destroyForcibly);
    if (reported.compareAndSet(false, true)) {
      delete(directory);
      print(Report.failed(options, Run.INTERRUPTED), INTERRUPTED);
    }
    System.out.flush();
    Runtime.getRuntime().halt(INTERRUPTED);
  }

  /** The script knows, and Java cannot ask before JDK 22. */
  private static boolean isTerminal(String stream) {
    return List.of(System.getProperty("pigeonhole.demo.terminal", "").split(" ")).contains(stream);
  }

  /** What is being killed may still write, so once is not always enough. */
  private static void delete(Path directory) {
    for (int attempt = 1; attempt <= 50; attempt++) {
      try (Stream<Path> paths = Files.walk(directory)) {
        for (Path path : paths.sorted(Comparator.reverseOrder()).toList()) {
          Files.deleteIfExists(path);
        }
        return;
      } catch (NoSuchFileException e) {
        return;
      } catch (IOException | java.io.UncheckedIOException e) {
        try {
          Thread.sleep(100);
        } catch (InterruptedException interrupted) {
          Thread.currentThread().interrupt();
          return;
        }
      }
    }
    System.err.println("demo: could not remove " + directory);
  }
}
