package dev.pigeonhole.proofs;

import dev.pigeonhole.support.DatabaseServer;
import dev.pigeonhole.support.JavaProcess;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/**
 * Does to a fleet of workers what production does: kills one every few seconds, restarts two
 * properly, pauses one for longer than anybody waits, restarts the database. Each fault is noted
 * with its time, because a fault that hit nothing proves nothing.
 */
final class Nemesis {
  /** From when until when a worker was dead, stopping or paused, in microseconds. */
  record Fault(String kind, long pid, long from, long until) {}

  private final List<JavaProcess> fleet = new ArrayList<>();
  private final List<Fault> faults = new ArrayList<>();
  private final Supplier<JavaProcess> start;
  private final DatabaseServer server;
  private final Random random;

  Nemesis(int workers, Supplier<JavaProcess> start, DatabaseServer server, long seed) {
    this.start = start;
    this.server = server;
    this.random = new Random(seed);
    for (int i = 0; i < workers; i++) {
      fleet.add(start.get());
    }
    fleet.forEach(worker -> worker.awaitLine("READY", Duration.ofSeconds(60)));
  }

  List<Fault> faults() {
    return faults;
  }

  /** Goes on until the load is over; the order of faults is fixed, their victims are not. */
  void rage(Duration between, Duration pause, Supplier<Boolean> loadIsOver) {
    for (int round = 0; !loadIsOver.get() || round < 6; round++) {
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
    victim.waitFor(Duration.ofSeconds(30));
    victim.close();
    fleet.add(started());
    faults.add(new Fault("restart", victim.pid(), from, Long.MAX_VALUE));
  }

  /** Others go on being killed meanwhile: the pause is served by a thread of its own. */
  private void pauseOne(Duration pause) {
    JavaProcess victim = takeOne();
    long from = Worker.now();
    victim.pause();
    Thread waiter =
        new Thread(
            () -> {
              rest(pause);
              victim.resume();
              synchronized (fleet) {
                faults.add(new Fault("pause", victim.pid(), from, Worker.now()));
                fleet.add(victim);
              }
            },
            "paused-worker");
    waiter.start();
    rest(pause.plusSeconds(1));
  }

  private void restartDatabase() {
    long from = Worker.now();
    server.crash();
    rest(Duration.ofSeconds(1));
    server.restart();
    faults.add(new Fault("database", 0, from, Worker.now()));
  }

  private JavaProcess takeOne() {
    synchronized (fleet) {
      return fleet.remove(random.nextInt(fleet.size()));
    }
  }

  private JavaProcess started() {
    return start.get();
  }

  List<String> stop() {
    List<String> output = new ArrayList<>();
    synchronized (fleet) {
      for (JavaProcess worker : fleet) {
        worker.terminate();
      }
      for (JavaProcess worker : fleet) {
        worker.waitFor(Duration.ofSeconds(40));
        output.addAll(worker.output());
        worker.close();
      }
    }
    return output;
  }

  private static void rest(Duration time) {
    try {
      TimeUnit.NANOSECONDS.sleep(time.toNanos());
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }
}
