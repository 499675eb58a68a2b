package dev.pigeonhole.proofs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.support.JavaProcess;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.function.Supplier;

/** The workers that receive from a broker: some that live on, and victims beside them. */
final class SourceFleet implements AutoCloseable {
  private static final int KILLED = 137;
  private static final Duration LIMIT = Duration.ofMinutes(5);

  private final Supplier<JavaProcess.Builder> workers;
  private final List<JavaProcess> living = new ArrayList<>(); // guarded by this, as the next
  private final List<JavaProcess> all = new ArrayList<>();

  SourceFleet(Supplier<JavaProcess.Builder> workers, int size) {
    this.workers = workers;
    for (int i = 0; i < size; i++) {
      living.add(start(workers.get()));
    }
    living.forEach(SourceFleet::awaitReady);
  }

  private synchronized JavaProcess start(JavaProcess.Builder builder) {
    JavaProcess worker = builder.heap("128m").start();
    all.add(worker);
    return worker;
  }

  private static void awaitReady(JavaProcess worker) {
    worker.awaitLine("READY", LIMIT);
  }

  /** One more worker, which dies when it comes to this point for the n-th time. */
  void sacrifice(String point, int nth) {
    JavaProcess victim =
        start(workers.get().systemProperty("pigeonhole.crash", point + ":halt:" + nth));
    int code = victim.waitFor(LIMIT);
    assertThat(code).as("%s must be reached: %s", point, victim.output()).isEqualTo(KILLED);
  }

  /** One more that is like no other, and that the caller ends. */
  JavaProcess another(JavaProcess.Builder builder) {
    JavaProcess more = start(builder);
    awaitReady(more);
    return more;
  }

  /** Kills one wherever it is, and starts another. */
  void killAny(Random random) {
    JavaProcess next = another(workers.get());
    JavaProcess victim;
    synchronized (this) {
      victim = living.set(random.nextInt(living.size()), next);
    }
    victim.kill9();
    assertThat(victim.exitCode()).isEqualTo(KILLED);
  }

  /** Whether nobody who lives is in trouble. */
  boolean isFine() {
    return living().stream().allMatch(SourceFleet::isFine);
  }

  private static boolean isFine(JavaProcess worker) {
    boolean fine = true;
    for (String line : worker.output()) {
      fine = line.startsWith("TROUBLE") ? false : line.equals("FINE") || fine;
    }
    return fine;
  }

  /** How many lines with this text all of them have printed, the dead ones as well. */
  synchronized long said(String text) {
    return all.stream()
        .flatMap(worker -> worker.output().stream())
        .filter(line -> line.contains(text))
        .count();
  }

  /** Waits for one line more with this text than there were. */
  void awaitMore(String text, long before) {
    Eventually.until("\"" + text + "\"", LIMIT, () -> said(text) > before);
  }

  /** Whether there is one line more with this text within this time. */
  boolean saysMore(String text, long before, Duration time) {
    return Eventually.holds(time, () -> said(text) > before);
  }

  private synchronized List<JavaProcess> living() {
    return List.copyOf(living);
  }

  int size() {
    return living().size();
  }

  /** Ends whoever is left, so that a test that has failed leaves nobody behind. */
  @Override
  public synchronized void close() {
    all.forEach(JavaProcess::close);
  }
}
