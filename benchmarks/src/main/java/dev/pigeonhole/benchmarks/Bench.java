package dev.pigeonhole.benchmarks;

import dev.pigeonhole.support.AtExit;
import java.io.IOException;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.Arrays;
import java.util.Comparator;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The benchmark: options, plan, run, reports. {@code ./bench --help} explains itself. */
public final class Bench {

  private static final int OK = 0;
  private static final int FAILED = 1;
  private static final int WRONG_USAGE = 2;
  private static final int CANNOT_START = 3;
  private static final int INTERRUPTED = 130;

  private final Options options;
  private final Places places;
  private final PrintStream out;
  private final Progress progress;
  private final AtomicBoolean ended = new AtomicBoolean();
  private volatile @Nullable Database database;

  private Bench(Options options, Places places) {
    this.options = options;
    this.places = places;
    this.out = options.json() ? System.err : System.out;
    this.progress = new Progress(System.err, isTerminal());
  }

  public static void main(String[] args) {
    System.exit(run(new Places(Path.of("").toAbsolutePath()), args));
  }

  static int run(Places places, String... args) {
    boolean json = Arrays.asList(args).contains("--json");
    try {
      Options options = Options.parse(args);
      if (options.help()) {
        System.out.print(Options.HELP);
        return OK;
      }
      return new Bench(options, places).run();
    } catch (UsageException e) {
      System.err.println("bench: " + e.getMessage());
      System.err.println("Try: " + e.nearest());
      return tell(json, e, WRONG_USAGE);
    } catch (NoDatabaseException e) {
      System.err.println("bench: " + e.getMessage());
      return tell(json, e, CANNOT_START);
    } catch (Exception | Error e) {
      e.printStackTrace();
      return tell(json, e, FAILED);
    }
  }

  private static int tell(boolean json, Throwable e, int exit) {
    if (json) {
      System.out.println(JsonReport.failed(Objects.toString(e.getMessage(), e.toString())));
    }
    return exit;
  }

  private int run() throws Exception {
    Path directory = temporaryDirectory();
    AtExit.first(() -> interrupted(directory));
    Results results;
    try {
      results = measure(directory);
    } catch (Exception | Error e) {
      if (!ended.compareAndSet(false, true)) {
        return INTERRUPTED; // what failed, failed because of that
      }
      throw e;
    } finally {
      progress.clear();
      delete(directory);
    }
    if (!ended.compareAndSet(false, true)) {
      return INTERRUPTED;
    }
    out.print(new TextReport(results).text());
    if (options.json()) {
      System.out.println(new JsonReport(results).text());
    }
    boolean heard = !System.out.checkError();
    write(results);
    return results.ok() && heard ? OK : FAILED;
  }

  private Results measure(Path directory) throws Exception {
    Files.createDirectories(places.logs());
    Plan plan = Plan.of(options);
    try (Database opened = Database.open(options, directory);
        Subjects subjects = new Subjects(places)) {
      database = opened;
      Machine machine = Machine.here(opened);
      progress.say("%s; %s", machine.database(), machine.settings());
      progress.say("about %s minutes for %d runs", Numbers.clock(plan.seconds()), plan.runs());
      return new Rig(options, plan, opened, subjects, progress).run();
    }
  }

  private void write(Results results) throws IOException {
    String date = LocalDate.now(ZoneOffset.UTC).toString();
    String name = options.quick() ? date + "-quick" : date;
    Path target = Files.createDirectories(places.results(options, results.ok()));
    write(target.resolve(name + ".json"), new JsonReport(results).text() + "\n");
    write(target.resolve(name + ".md"), new MarkdownReport(results, date, name + ".svg").text());
    write(target.resolve(name + ".svg"), new Chart(results).svg());
    progress.say("results: %s.md, .json, .svg", places.root().relativize(target.resolve(name)));
  }

  /** All of it or nothing: an older result may be there. */
  private static void write(Path file, String text) throws IOException {
    Path whole = file.resolveSibling(file.getFileName() + ".new");
    Files.writeString(whole, text);
    Files.move(whole, file, StandardCopyOption.REPLACE_EXISTING, StandardCopyOption.ATOMIC_MOVE);
  }

  /** The embedded servers put their files below it, and a file of H2 stands there. */
  private static Path temporaryDirectory() throws IOException {
    Path parent = Path.of(System.getProperty("java.io.tmpdir")).toAbsolutePath();
    Path directory =
        Files.createTempDirectory(Files.createDirectories(parent), "pigeonhole-bench-");
    System.setProperty("java.io.tmpdir", directory.toString());
    return directory;
  }

  /** Runs at every end of the JVM; what it does is for those that nobody planned. */
  private void interrupted(Path directory) {
    if (!ended.compareAndSet(false, true)) {
      return;
    }
    progress.silence();
    System.err.println("interrupted");
    Database left = database;
    if (left != null) {
      left.close(); // before it is killed: a server that ends by itself leaves nothing behind
    }
    // All processes of this run are our descendants, or of a watchdog that is.
    ProcessHandle.current().descendants().forEach(ProcessHandle::destroyForcibly);
    if (left != null) {
      left.abandon();
    }
    delete(directory);
    if (options.json()) {
      System.out.println(JsonReport.failed("interrupted"));
    }
    System.out.flush();
    Runtime.getRuntime().halt(INTERRUPTED);
  }

  /** The script knows, and Java cannot ask before JDK 22. */
  private static boolean isTerminal() {
    return System.getProperty("pigeonhole.bench.terminal", "").equals("err");
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
      } catch (IOException | UncheckedIOException e) {
        try {
          Thread.sleep(100);
        } catch (InterruptedException interrupted) {
          Thread.currentThread().interrupt();
          return;
        }
      }
    }
    System.err.println("bench: could not remove " + directory);
  }
}
