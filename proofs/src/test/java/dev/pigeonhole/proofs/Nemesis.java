package dev.pigeonhole.proofs;

import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.DatabaseServer;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.support.JavaProcess;
import dev.pigeonhole.support.Ledger;
import dev.pigeonhole.support.TestDatabase;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * Does to a fleet of workers what production does: kills one every few seconds, restarts two
 * properly, pauses one for longer than anybody waits, restarts the database. Each fault is noted
 * with its time, because a fault that hit nothing proves nothing.
 */
final class Nemesis implements AutoCloseable {
  /** From when until when a worker was dead, stopping or paused, in microseconds. */
  record Fault(String kind, long pid, long from, long until) {}

  private static final Duration PATIENCE = Duration.ofMinutes(3);

  private final List<JavaProcess> fleet = new ArrayList<>();
  private final List<JavaProcess> all = new ArrayList<>();
  private final List<Fault> faults = new ArrayList<>();
  private final Function<Worker.Version, JavaProcess> start;
  private final DatabaseServer server;
  private final Path directory;
  private final Random random;
  private long cutConnections;

  Nemesis(
      int workers,
      Function<Worker.Version, JavaProcess> start,
      DatabaseServer server,
      Path directory,
      long seed) {
    this.directory = directory;
    this.start =
        version -> {
          JavaProcess worker = start.apply(version);
          all.add(worker);
          return worker;
        };
    this.server = server;
    this.random = new Random(seed);
    for (int i = 0; i < workers; i++) {
      fleet.add(this.start.apply(Worker.Version.FIRST));
    }
    fleet.forEach(worker -> worker.awaitLine("READY", Duration.ofMinutes(5)));
  }

  List<Fault> faults() {
    return faults;
  }

  /**
   * Goes on until the load is over, for so many rounds at least; the order of faults is fixed,
   * their victims are not.
   */
  void rage(int rounds, Duration between, Duration pause, Supplier<Boolean> loadIsOver) {
    for (int round = 0; !loadIsOver.get() || round < rounds; round++) {
      rest(between);
      switch (round) {
        case 1 -> pauseOne(pause);
        case 2 -> restartDatabase();
        case 3, 5 -> restartOne();
        default -> killOne();
      }
    }
  }

  private void killOne() {
    JavaProcess victim = takeOne();
    long from = Worker.now();
    victim.kill9();
    victim.close();
    fleet.add(started());
    faults.add(new Fault("kill", victim.pid(), from, Long.MAX_VALUE));
  }

  private void restartOne() {
    JavaProcess victim = takeOne();
    long from = Worker.now();
    victim.terminate();
    victim.waitFor(PATIENCE);
    victim.close();
    fleet.add(started());
    faults.add(new Fault("restart", victim.pid(), from, Long.MAX_VALUE));
  }

  /**
   * In the middle of a slow attempt, and until another has handled that message, so that the worker
   * wakes up as a zombie: it will settle what another has settled long ago.
   */
  private void pauseOne(Duration pause) {
    JavaProcess victim = takeOne();
    Path log = log(victim);
    String message = pauseInASlowAttempt(victim, log);
    long from = Worker.now();
    rest(pause);
    Eventually.until(
        "somebody else has handled " + message, PATIENCE, () -> othersHandled(message));
    victim.resume();
    faults.add(new Fault("pause", victim.pid(), from, Worker.now()));
    Eventually.until(
        "the zombie " + victim.pid() + " is refused",
        PATIENCE,
        () -> Ledger.read(log).stream().anyMatch(line -> line.startsWith("REFUSED plain ")));
    fleet.add(victim);
  }

  /** The worker may end its attempt while the signal is on its way; then the next will do. */
  private static String pauseInASlowAttempt(JavaProcess victim, Path log) {
    AtomicReference<Optional<String>> message = new AtomicReference<>(Optional.empty());
    Eventually.until(
        "a slow attempt of " + victim.pid(),
        PATIENCE,
        () -> {
          if (slowNow(log).isEmpty()) {
            return false;
          }
          victim.pause();
          message.set(slowNow(log));
          if (message.get().isEmpty()) {
            victim.resume();
          }
          return message.get().isPresent();
        });
    return message.get().orElseThrow();
  }

  /** The message of the latest slow attempt that has not ended. */
  private static Optional<String> slowNow(Path log) {
    Optional<String> slow = Optional.empty();
    for (String each : Ledger.read(log)) {
      String[] line = each.split(" ");
      if (line[0].equals("SLOW")) {
        slow = Optional.of(line[1]);
      } else if (line[0].equals("PLAIN") && slow.equals(Optional.of(line[1]))) {
        slow = Optional.empty();
      }
    }
    return slow;
  }

  private boolean othersHandled(String message) {
    return fleet.stream()
        .flatMap(other -> Ledger.read(log(other)).stream())
        .anyMatch(line -> line.startsWith("PLAIN " + message + " "));
  }

  private Path log(JavaProcess worker) {
    return directory.resolve("worker-" + worker.pid() + ".log");
  }

  private void restartDatabase() {
    cutConnections = clients();
    long from = Worker.now();
    server.crash();
    rest(Duration.ofSeconds(1));
    server.restart();
    faults.add(new Fault("database", 0, from, Worker.now()));
  }

  private long clients() {
    try (TestDatabase any = server.emptySchema()) {
      return any.count(
          server.kind() == DatabaseKind.POSTGRES
              ? "SELECT COUNT(*) FROM pg_stat_activity WHERE backend_type = 'client backend'"
              : "SELECT COUNT(*) FROM information_schema.processlist");
    }
  }

  /** How many connections the crash of the database broke. */
  long cutConnections() {
    return cutConnections;
  }

  /** One that works: what replaces a former victim takes its time to start. */
  private JavaProcess takeOne() {
    Eventually.until("a worker that is ready", PATIENCE, () -> !ready().isEmpty());
    List<JavaProcess> ready = ready();
    JavaProcess one = ready.get(random.nextInt(ready.size()));
    fleet.remove(one);
    return one;
  }

  private List<JavaProcess> ready() {
    return fleet.stream().filter(worker -> worker.output().contains("READY")).toList();
  }

  private JavaProcess started() {
    return start.apply(Worker.Version.SECOND); // a rolling deployment goes on meanwhile
  }

  List<String> stop() {
    List<String> output = new ArrayList<>();
    for (JavaProcess worker : fleet) {
      worker.terminate();
    }
    for (JavaProcess worker : fleet) {
      worker.waitFor(Duration.ofMinutes(5));
      output.addAll(worker.output());
      worker.close();
    }
    return output;
  }

  /** Ends whoever is left, so that a test that has failed leaves nobody behind. */
  @Override
  public void close() {
    all.forEach(JavaProcess::close);
  }

  private static void rest(Duration time) {
    try {
      TimeUnit.NANOSECONDS.sleep(time.toNanos());
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }
}
