package dev.pigeonhole.benchmarks.peers.transactionoutbox;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import com.gruelbox.transactionoutbox.Dialect;
import com.gruelbox.transactionoutbox.Instantiator;
import com.gruelbox.transactionoutbox.Persistor;
import com.gruelbox.transactionoutbox.Submitter;
import com.gruelbox.transactionoutbox.TransactionManager;
import com.gruelbox.transactionoutbox.TransactionOutbox;
import com.zaxxer.hikari.HikariDataSource;
import dev.pigeonhole.benchmarks.peers.Calls;
import dev.pigeonhole.benchmarks.peers.Setting;
import dev.pigeonhole.benchmarks.peers.Tables;
import dev.pigeonhole.benchmarks.subject.Load;
import dev.pigeonhole.benchmarks.subject.Run;
import dev.pigeonhole.benchmarks.subject.Subject;
import java.util.Set;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/** A message is a call under a unique request id, run by the outbox right after the commit. */
public final class TransactionOutboxSubject implements Subject {

  private static final int THREADS = Setting.number("threads", 8);
  private static final int PRODUCERS = Setting.number("producers", 2);

  // More than one share a commit; but one repeat then takes all of them down.
  private static final int BATCH = Setting.number("batch", 100);

  @Override
  public String dedup() {
    return "schedule throws AlreadyScheduledException on a unique request id that is there, and its"
        + (BATCH == 1 ? " transaction fails" : " transaction of " + BATCH + " messages fails")
        + "; the processed row stays as the marker for its retention of seven days.";
  }

  @Override
  public String effects() {
    return "once: the call and its completion are one transaction";
  }

  @Override
  public String settings() {
    return ("transactionoutbox-core 4.2.268, POSTGRESQL_9, submitter with %d threads and an endless"
            + " queue, flush() once a second, %d producers, %d messages a transaction, pool 24")
        .formatted(THREADS, PRODUCERS, BATCH);
  }

  @Override
  public Set<String> scenarios() {
    return Set.of("end-to-end");
  }

  @Override
  public void prepare(Run run) {
    try (HikariDataSource pool = run.pool(1)) {
      persistor().migrate(TransactionManager.fromDataSource(pool));
    }
  }

  @Override
  public long work(Run run) throws Exception {
    Calls calls = new Calls(run.messages());
    // Its queue has no end, so that nothing has to wait for a flush to be tried again.
    ExecutorService workers = Executors.newFixedThreadPool(THREADS);
    ScheduledExecutorService flusher = Executors.newSingleThreadScheduledExecutor();

    try (Tables tables = new Tables(run.connect());
        HikariDataSource pool = run.pool(24)) {
      TransactionManager transactions = TransactionManager.fromDataSource(pool);
      TransactionOutbox outbox = outbox(transactions, calls, workers);
      flusher.scheduleWithFixedDelay(() -> flush(outbox), 1, 1, TimeUnit.SECONDS);
      try {
        run.begin();
        Load.run(
            run.messages(),
            PRODUCERS,
            BATCH,
            (from, to) -> transactions.inTransaction(() -> schedule(outbox, run, from, to)));
        calls.awaitAll();
        tables.awaitNone("txno_outbox WHERE NOT processed");
        run.end();
      } finally {
        stop(flusher);
        stop(workers);
      }
      return Math.min(tables.count("txno_outbox WHERE processed"), calls.once());
    }
  }

  private static TransactionOutbox outbox(
      TransactionManager transactions, Calls calls, Executor workers) {
    Receiver receiver = (id, payload) -> calls.handled(id);
    return TransactionOutbox.builder()
        .transactionManager(transactions)
        .persistor(persistor())
        .instantiator(Instantiator.using(type -> receiver))
        .submitter(Submitter.withExecutor(workers))
        .build();
  }

  private static Persistor persistor() {
    return Persistor.forDialect(Dialect.POSTGRESQL_9);
  }

  private static void schedule(TransactionOutbox outbox, Run run, int from, int to) {
    for (int i = from; i < to; i++) {
      outbox
          .with()
          .uniqueRequestId(run.id(i))
          .schedule(Receiver.class)
          .receive(run.id(i), new String(run.payload(i), ISO_8859_1));
    }
  }

  /** The loop that the outbox asks its users for; it retries what a worker could not do. */
  private static void flush(TransactionOutbox outbox) {
    boolean more = true;
    while (more) {
      more = outbox.flush();
    }
  }

  private static void stop(ExecutorService executor) throws InterruptedException {
    executor.shutdown();
    executor.awaitTermination(1, TimeUnit.MINUTES);
  }
}
