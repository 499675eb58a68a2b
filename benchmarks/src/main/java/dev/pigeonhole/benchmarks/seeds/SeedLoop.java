package dev.pigeonhole.benchmarks.seeds;

import com.zaxxer.hikari.HikariDataSource;
import dev.pigeonhole.benchmarks.peers.Tables;
import dev.pigeonhole.benchmarks.subject.Crew;
import dev.pigeonhole.benchmarks.subject.Run;
import java.sql.Connection;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.locks.LockSupport;

/** Consumers that store one message in each commit, and processors beside them, to the end. */
abstract class SeedLoop {

  /** So that commits can share a flush; more gain nothing on two cores. */
  static final int CONSUMERS = 8;

  private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

  private final AtomicInteger next = new AtomicInteger();
  private final AtomicInteger handled = new AtomicInteger();
  private final AtomicIntegerArray calls;
  final Run run;

  SeedLoop(Run run) {
    this.run = run;
    this.calls = new AtomicIntegerArray(run.messages());
  }

  /** Stores messages until {@link #next} says that there are no more. */
  abstract void consume(Connection connection) throws Exception;

  /**
   * Handles a batch.
   *
   * @return how many there were
   */
  abstract int process(Connection connection) throws Exception;

  /** The rows that stand for a completed message, as they are written behind FROM. */
  abstract String completedRows();

  final long play(int processors) throws Exception {
    int members = CONSUMERS + processors;
    try (HikariDataSource pool = run.pool(members)) {
      run.begin();
      Crew.run(
          members,
          member -> {
            try (Connection connection = pool.getConnection()) {
              if (member < CONSUMERS) {
                consume(connection);
              } else {
                processAll(connection);
              }
            }
          });
      run.end();
    }
    for (int i = 0; i < calls.length(); i++) {
      if (calls.get(i) != 1) {
        throw new IllegalStateException("%d calls for message %d".formatted(calls.get(i), i));
      }
    }
    try (Tables tables = new Tables(run.connect())) {
      return tables.count(completedRows());
    }
  }

  private void processAll(Connection connection) throws Exception {
    while (handled.get() < run.messages() && !Thread.currentThread().isInterrupted()) {
      if (process(connection) == 0) {
        LockSupport.parkNanos(PAUSE_NANOS);
      }
    }
  }

  /** The number of the next message to store; negative when all have been taken. */
  final int next() {
    int number = next.getAndIncrement();
    return number < run.messages() ? number : -1;
  }

  /** The handler: it does nothing. */
  final void handle(int number) {
    calls.incrementAndGet(number);
  }

  /** So many more are durable. */
  final void completed(int more) {
    handled.addAndGet(more);
  }
}
