package dev.pigeonhole.proofs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.jdbc.Schema;
import dev.pigeonhole.support.DatabaseServer;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.support.Ledger;
import dev.pigeonhole.support.TestDatabase;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.BooleanSupplier;

/**
 * Lets a producer send to a broker, workers receive from it, and faults strike; then compares what
 * the broker has confirmed to the producer with what the handlers have done.
 */
final class SourceProof implements AutoCloseable {
  private static final int WORKERS = 2;
  private static final long PACE_MILLIS = 10;

  private final SourceBroker broker;
  private final TestDatabase database;
  private final Path path;
  private final Ledger ledger;
  private final SourceFleet fleet;
  private final List<SourceLoad> loads = new ArrayList<>();
  private final Map<String, Integer> hits = Collections.synchronizedMap(new TreeMap<>());

  SourceProof(SourceBroker broker, DatabaseServer server, Path directory) {
    this.broker = broker;
    this.database = server.emptySchema();
    this.path = directory.resolve("confirmed.log");
    this.ledger = Ledger.open(path);
    Schema.migrate(database.dataSource());
    Tables.createEffects(database);
    this.fleet =
        new SourceFleet(
            () -> broker.worker(database.jdbcUrl(), database.user(), database.password()), WORKERS);
  }

  SourceFleet fleet() {
    return fleet;
  }

  /** One fault after another, each so often, while at least so many messages are sent. */
  void alone(List<SourceFault> faults, int strikes, int messages) throws Exception {
    for (SourceFault fault : faults) {
      SourceLoad load = load(fault.name());
      for (int i = 0; i < strikes; i++) {
        strike(fault);
      }
      load.finish(messages / faults.size());
    }
  }

  /** Faults of several kinds at once, for so long. */
  @SafeVarargs
  final void mixed(Duration time, int messages, Random random, List<SourceFault>... kinds)
      throws Exception {
    long end = System.nanoTime() + time.toNanos();
    BooleanSupplier over = () -> System.nanoTime() - end >= 0;
    List<Callable<Void>> rages = new ArrayList<>();
    for (List<SourceFault> kind : kinds) {
      rages.add(rage(kind, random, over));
    }
    SourceLoad load = load("mixed");
    ExecutorService threads = Executors.newFixedThreadPool(rages.size());
    try {
      for (Future<Void> each : threads.invokeAll(rages)) {
        each.get();
      }
    } finally {
      threads.shutdownNow();
    }
    load.finish(messages);
  }

  /** In a new order each time, all of them before any comes again. */
  private Callable<Void> rage(List<SourceFault> faults, Random random, BooleanSupplier over) {
    List<SourceFault> order = new ArrayList<>(faults);
    Collections.shuffle(order, random);
    return () -> {
      for (int round = 0; round < order.size() || !over.getAsBoolean(); round++) {
        strike(order.get(round % order.size()));
      }
      return null;
    };
  }

  private SourceLoad load(String name) {
    SourceLoad load = new SourceLoad(broker, ledger, name, PACE_MILLIS);
    loads.add(load);
    load.start();
    return load;
  }

  private void strike(SourceFault fault) throws Exception {
    long began = System.nanoTime();
    fault.strike().run();
    hits.merge(fault.name(), 1, Integer::sum);
    System.out.printf("  %s: %.1f s%n", fault.name(), (System.nanoTime() - began) / 1e9);
  }

  /** Whether the message with this id has had its effect. */
  boolean isHandled(String id) {
    return database.count("SELECT COUNT(*) FROM effect WHERE message = ?", id) > 0;
  }

  /** How often each fault has hit. */
  Map<String, Integer> hits() {
    return hits;
  }

  /** Nothing is lost and nothing done twice, once nothing is under way any more. */
  void judge(String what) {
    Eventually.until(
        "everything received and handled",
        Size.patience(),
        () -> broker.left() == 0 && Tables.openCount(database) == 0);
    SourceVerdict verdict = new SourceVerdict(path, database);
    int copies = loads.stream().mapToInt(SourceLoad::copies).sum();
    long repeated = fleet.said("REPEATED ");
    System.out.printf(
        "%s: %d messages, %d sent twice, %d unconfirmed sends, %d came again, faults %s%n",
        what,
        verdict.confirmed.size(),
        copies,
        loads.stream().mapToInt(SourceLoad::unconfirmed).sum(),
        repeated,
        hits);
    assertThat(verdict.lost).as("lost").isEmpty();
    assertThat(verdict.doubled).as("double effects").isEmpty();
    assertThat(verdict.standingTwice).as("standing twice").isEmpty();
    assertThat(verdict.unknown).as("effects of what nobody sent").isEmpty();
    assertThat(broker.aside()).as("put aside").isZero();
    assertThat(Tables.count(database, "poison")).as("poisoned").isZero();
    assertThat(Tables.count(database, "conflict")).as("copies that differ").isZero();
    assertThat(copies).as("sent twice").isGreaterThanOrEqualTo(verdict.confirmed.size() / 10);
    assertThat(repeated).as("what came again").isGreaterThanOrEqualTo(copies / 2);
  }

  @Override
  public void close() {
    fleet.close();
    ledger.close();
    database.close();
  }
}
