package dev.pigeonhole.benchmarks.peers.namastack;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import com.zaxxer.hikari.HikariDataSource;
import dev.pigeonhole.benchmarks.peers.Calls;
import dev.pigeonhole.benchmarks.peers.Markers;
import dev.pigeonhole.benchmarks.peers.Setting;
import dev.pigeonhole.benchmarks.peers.Tables;
import dev.pigeonhole.benchmarks.subject.Load;
import dev.pigeonhole.benchmarks.subject.Run;
import dev.pigeonhole.benchmarks.subject.Subject;
import io.namastack.outbox.Outbox;
import java.sql.SQLException;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.support.GenericApplicationContext;
import org.springframework.jdbc.core.ConnectionCallback;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

/** A message is a record of the outbox; a table of ours refuses repeats, since it does not. */
public final class NamastackSubject implements Subject {

  private static final int THREADS = Setting.number("threads", 16);
  private static final int PRODUCERS = Setting.number("producers", 2);
  private static final int BATCH = Setting.number("batch", 100);
  private static final int POLL_MILLIS = Setting.number("pollMillis", 25);
  private static final int POLL_KEYS = Setting.number("pollKeys", 1000);
  private static final boolean DELETE = Setting.yes("delete", true);

  // Records of one key are read together, in order. Its own benchmark has ten of each.
  private static final int RECORDS_PER_KEY = Setting.number("recordsPerKey", 10);

  private static final int PARTITIONS = 256;

  @Override
  public String dedup() {
    return "None of its own: a table of ours (INSERT … ON CONFLICT DO NOTHING in the transaction that"
        + " schedules) refuses repeats; that marker is kept for ever.";
  }

  @Override
  public String effects() {
    return "at least once: the handler and its completion are apart";
  }

  @Override
  public String settings() {
    return ("Namastack Outbox JDBC 1.6.0, fixed polling every %d ms, %d keys a poll, %d records a key,"
            + " %d threads, completed records %s, %d producers with %d messages a transaction,"
            + " pool 24")
        .formatted(
            POLL_MILLIS,
            POLL_KEYS,
            RECORDS_PER_KEY,
            THREADS,
            DELETE ? "deleted" : "kept",
            PRODUCERS,
            BATCH);
  }

  @Override
  public Set<String> scenarios() {
    return Set.of("end-to-end");
  }

  /** It makes its own tables when it starts. */
  @Override
  public void prepare(Run run) throws SQLException {
    try (Tables tables = new Tables(run.connect())) {
      tables.execute(Markers.TABLE);
    }
  }

  @Override
  public long work(Run run) throws Exception {
    Calls calls = new Calls(run.messages());
    try (Tables tables = new Tables(run.connect());
        HikariDataSource pool = run.pool(24)) {
      try (ConfigurableApplicationContext application = start(pool, calls)) {
        Outbox outbox = application.getBean(Outbox.class);
        JdbcTemplate jdbc = application.getBean(JdbcTemplate.class);
        TransactionTemplate transactions =
            new TransactionTemplate(application.getBean(PlatformTransactionManager.class));
        tables.await(
            "SELECT count(*) FROM outbox_partition WHERE instance_id IS NOT NULL", PARTITIONS);
        run.begin();
        Load.run(
            run.messages(),
            PRODUCERS,
            BATCH,
            (from, to) ->
                transactions.executeWithoutResult(status -> schedule(outbox, jdbc, run, from, to)));
        calls.awaitAll();
        tables.awaitNone("outbox_record WHERE status <> 'COMPLETED'");
        run.end();
      }
      long completed =
          DELETE
              ? tables.count("marker") - tables.count("outbox_record")
              : tables.count("outbox_record WHERE status = 'COMPLETED'");
      return Math.min(completed, calls.once());
    }
  }

  private static ConfigurableApplicationContext start(HikariDataSource pool, Calls calls) {
    return new SpringApplicationBuilder(Application.class)
        .web(WebApplicationType.NONE)
        .properties(
            Map.of(
                "spring.main.banner-mode",
                "off",
                "logging.level.root",
                "warn",
                "namastack.outbox.polling.trigger",
                "fixed",
                "namastack.outbox.polling.fixed.interval",
                POLL_MILLIS + "ms",
                "namastack.outbox.polling.batch-size",
                POLL_KEYS,
                "namastack.outbox.processing.executor-core-pool-size",
                THREADS,
                "namastack.outbox.processing.executor-max-pool-size",
                THREADS,
                "namastack.outbox.processing.delete-completed-records",
                DELETE))
        .initializers(
            context -> {
              GenericApplicationContext beans = (GenericApplicationContext) context;
              beans.registerBean("dataSource", HikariDataSource.class, () -> pool);
              beans.registerBean("calls", Calls.class, () -> calls);
            })
        .run();
  }

  private static void schedule(Outbox outbox, JdbcTemplate jdbc, Run run, int from, int to) {
    Set<String> fresh =
        Objects.requireNonNull(
            jdbc.execute(
                (ConnectionCallback<Set<String>>)
                    connection -> Markers.insert(connection, run, from, to)));
    for (int i = from; i < to; i++) {
      if (fresh.contains(run.id(i))) {
        Received received = new Received(run.id(i), new String(run.payload(i), ISO_8859_1));
        outbox.schedule(received, run.id(i - i % RECORDS_PER_KEY));
      }
    }
  }
}
