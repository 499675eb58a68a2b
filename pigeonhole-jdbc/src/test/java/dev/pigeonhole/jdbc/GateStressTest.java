package dev.pigeonhole.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.store.AcceptResult;
import dev.pigeonhole.store.Delivery;
import dev.pigeonhole.store.HandlerId;
import dev.pigeonhole.store.NewMessage;
import dev.pigeonhole.store.Outcome;
import dev.pigeonhole.store.Pruning;
import dev.pigeonhole.store.Settlement;
import dev.pigeonhole.store.StoreException;
import dev.pigeonhole.store.Transactions;
import dev.pigeonhole.store.Transactions.WorkFailedException;
import dev.pigeonhole.support.DuplicateRows;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.tck.Judge;
import java.sql.PreparedStatement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Everybody at once on a few identities: acceptors of two versions, a zombie and an owner who
 * settle the same rows, units of work, operators who revive, end, replay and purge one or many, and
 * retention. Afterwards nothing may have been created twice, no effect may have happened twice in
 * one life of a delivery, and nothing may hang in the air.
 */
class GateStressTest {
  private static final boolean SMALL =
      "small".equals(System.getProperty("pigeonhole.size", "small"));
  private static final Duration TIME = Duration.ofSeconds(SMALL ? 4 : 60);
  private static final Duration LONGEST = Duration.ofMinutes(5);
  private static final int IDS = 40;

  private final AtomicLong stored = new AtomicLong();
  private final AtomicLong repeats = new AtomicLong();
  private final AtomicLong differing = new AtomicLong();
  private final AtomicLong pruned = new AtomicLong();
  private final AtomicLong transientErrors = new AtomicLong();

  /** (seq, handler) → how often somebody was told that it had been created. */
  private final Map<List<Long>, AtomicInteger> created = new ConcurrentHashMap<>();

  /** (seq, handler, life) → how often somebody was told that it had completed it. */
  private final Map<List<Long>, AtomicInteger> completed = new ConcurrentHashMap<>();

  @ParameterizedTest
  @MethodSource("dev.pigeonhole.support.TestDatabases#servers")
  void b70_clm25_my03_d167_nothingIsCreatedTwiceDoneTwiceOrOrphaned(TestDatabase database)
      throws Exception {
    Rig rig = Rig.on(database);
    StressedOperator operator = new StressedOperator(rig, IDS);
    database.execute("CREATE TABLE effect (seq bigint, handler int, life int)");
    ExecutorService pool = Executors.newCachedThreadPool();
    long began = System.nanoTime();
    // A busy machine gets less done; then it goes on until everything has been done often enough.
    BooleanSupplier over =
        () -> {
          Duration passed = Duration.ofNanos(System.nanoTime() - began);
          return passed.compareTo(TIME) > 0
              && (passed.compareTo(LONGEST) > 0 || everythingWasDone(operator));
        };
    List<Future<?>> actors = new ArrayList<>();
    for (int i = 0; i < 5; i++) {
      boolean newVersion = i % 2 == 0;
      int seed = i;
      actors.add(pool.submit(() -> loop(over, accept(rig, newVersion, new Random(seed)))));
    }
    for (int i = 0; i < 2; i++) {
      int seed = 10 + i;
      actors.add(pool.submit(() -> loop(over, settle(rig, new Random(seed)))));
      actors.add(pool.submit(() -> loop(over, unit(rig, new Random(seed + 10)))));
    }
    actors.add(pool.submit(() -> loop(over, operate(operator, new Random(30)))));
    actors.add(pool.submit(() -> loop(over, replay(operator, new Random(31)))));
    for (int i = 0; i < 2; i++) {
      int seed = 40 + i;
      actors.add(pool.submit(() -> loop(over, changeMany(operator, new Random(seed)))));
    }
    actors.add(pool.submit(() -> loop(over, prune(rig, new Random(99)))));
    for (Future<?> actor : actors) {
      actor.get(2 * LONGEST.toSeconds(), TimeUnit.SECONDS);
    }
    pool.shutdown();

    assertThat(created).as("created twice").allSatisfy((key, n) -> assertThat(n).hasValue(1));
    assertThat(completed).as("completed twice").allSatisfy((key, n) -> assertThat(n).hasValue(1));
    assertThat(
            database.count(
                "SELECT count(*) FROM (SELECT seq, handler, life FROM effect GROUP BY seq, handler, life HAVING count(*) > 1) x"))
        .as("effects twice")
        .isZero();
    for (String table :
        List.of(
            "delivery", "later", "poison", "receipt", "failure", "edit", "unhandled", "conflict")) {
      assertThat(
              database.count(
                  "SELECT count(*) FROM %s t WHERE NOT EXISTS (SELECT 1 FROM %s m WHERE m.seq = t.seq)"
                      .formatted(rig.table(table), rig.table("message"))))
          .as("orphans in %s", table)
          .isZero();
    }
    assertThat(DuplicateRows.in(database)).as("in two states").isEmpty();
    assertThat(everythingWasDone(operator)).as("everything was done often enough").isTrue();
  }

  private boolean everythingWasDone(StressedOperator operator) {
    return stored.get() > 10
        && repeats.get() > 100
        && pruned.get() > 10
        && differing.get() > 10
        && operator.replayed.get() > 10
        && operator.edited.get() > 0
        && operator.dismissed.get() > 0
        && operator.changed.values().stream().allMatch(changed -> changed.get() > 0);
  }

  private void loop(BooleanSupplier over, Callable<?> step) {
    try {
      while (!over.getAsBoolean()) {
        try {
          step.call();
        } catch (StoreException e) {
          if (e.kind() == StoreException.Kind.PERMANENT) {
            throw e;
          }
          transientErrors.incrementAndGet();
        }
      }
    } catch (Exception e) {
      throw new AssertionError(e);
    }
  }

  private Callable<?> accept(Rig rig, boolean newVersion, Random random) {
    HandlerId[] registered = newVersion ? new HandlerId[] {rig.a, rig.b} : new HandlerId[] {rig.a};
    return () -> {
      // Now and then nobody is there who wants it, or it is not the same as before.
      HandlerId[] handlers = random.nextInt(20) == 0 ? new HandlerId[0] : registered;
      List<NewMessage> batch = new ArrayList<>();
      for (int i = random.nextInt(6); i >= 0; i--) {
        String id = "m-" + random.nextInt(IDS);
        batch.add(
            random.nextInt(50) == 0
                ? Rig.message(id, "other content", handlers)
                : rig.message(id, handlers));
      }
      List<AcceptResult> results = rig.store.acceptor().accept(batch);
      for (AcceptResult each : results) {
        if (each instanceof AcceptResult.Stored first) {
          stored.incrementAndGet();
          for (HandlerId handler : handlers) {
            created(first.seq(), handler);
          }
        } else if (each instanceof AcceptResult.Known known) {
          repeats.incrementAndGet();
          known.added().forEach(handler -> created(known.seq(), handler));
        } else if (each instanceof AcceptResult.Differs) {
          differing.incrementAndGet();
        } else {
          throw new AssertionError(each);
        }
      }
      return null;
    };
  }

  private void created(long seq, HandlerId handler) {
    created
        .computeIfAbsent(List.of(seq, (long) handler.family()), key -> new AtomicInteger())
        .incrementAndGet();
  }

  private Callable<?> settle(Rig rig, Random random) {
    return () -> {
      HandlerId handler = random.nextBoolean() ? rig.a : rig.b;
      Map<Delivery, Outcome> outcomes = new HashMap<>();
      for (Delivery each : rig.open(handler, 5)) {
        int dice = random.nextInt(10);
        outcomes.put(
            each,
            dice < 2
                ? new Outcome.Poisoned(Rig.failure("x"), true)
                : dice < 4
                    ? new Outcome.RetryAfter(Duration.ZERO, Rig.failure("y"))
                    : dice < 5 ? new Outcome.Released() : new Outcome.Completed());
      }
      var result =
          rig.store
              .deliveries()
              .settle(
                  outcomes.entrySet().stream()
                      .map(each -> new Settlement(each.getKey(), each.getValue()))
                      .toList());
      outcomes.forEach(
          (delivery, outcome) -> {
            if (outcome instanceof Outcome.Completed
                && !result.refused().contains(delivery)
                && !result.locked().contains(delivery)) {
              completed(delivery);
            }
          });
      return null;
    };
  }

  private void completed(Delivery delivery) {
    completed
        .computeIfAbsent(
            List.of(delivery.seq(), (long) delivery.cell().handler(), (long) life(delivery)),
            key -> new AtomicInteger())
        .incrementAndGet();
  }

  /** A replay begins another life, whose versions lie above all of the one before. */
  private static int life(Delivery delivery) {
    return (int) delivery.version() >>> 20; // the lower half: the upper one is the message's
  }

  private Callable<?> unit(Rig rig, Random random) {
    Transactions transactions = rig.store.transactions().orElseThrow();
    return () -> {
      HandlerId handler = random.nextBoolean() ? rig.a : rig.b;
      List<Delivery> rows = rig.open(handler, 2).stream().limit(3).toList();
      try {
        transactions
            .run(
                rows,
                (row, connection) -> {
                  try (PreparedStatement insert =
                      connection.prepareStatement("INSERT INTO effect VALUES (?, ?, ?)")) {
                    insert.setLong(1, row.seq());
                    insert.setInt(2, row.cell().handler());
                    insert.setInt(3, life(row));
                    insert.executeUpdate();
                  }
                  if (random.nextInt(20) == 0) {
                    throw new IllegalStateException("now and then");
                  }
                })
            .forEach(this::completed);
      } catch (WorkFailedException e) {
        assertThat(e.getCause()).isInstanceOf(IllegalStateException.class);
      }
      return null;
    };
  }

  private static Callable<?> operate(StressedOperator operator, Random random) {
    return () -> {
      operator.dealWithPoison(random);
      operator.dismissConflicts();
      return null;
    };
  }

  private static Callable<?> replay(StressedOperator operator, Random random) {
    return () -> {
      operator.replay(random);
      return null;
    };
  }

  private static Callable<?> changeMany(StressedOperator operator, Random random) {
    return () -> {
      operator.changeMany(random);
      return null;
    };
  }

  private Callable<?> prune(Rig rig, Random random) {
    Pruning finished =
        new Judge(
            message -> {
              // Poison is the operator's business, who retries it at the same time: a race worth
              // having.
              boolean touchy = random.nextInt(4) > 0 && !message.poisoned().isEmpty();
              return touchy || message.completed().isEmpty()
                  ? Pruning.Fate.KEEP
                  : Pruning.Fate.DELETE;
            },
            null);
    return () -> pruned.addAndGet(rig.store.maintenance().prune(finished, 5).deleted());
  }
}
