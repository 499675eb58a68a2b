package dev.pigeonhole.benchmarks.peers.springintegration;

import com.zaxxer.hikari.HikariDataSource;
import dev.pigeonhole.benchmarks.peers.Calls;
import dev.pigeonhole.benchmarks.peers.Setting;
import dev.pigeonhole.benchmarks.peers.Tables;
import dev.pigeonhole.benchmarks.subject.Load;
import dev.pigeonhole.benchmarks.subject.Run;
import dev.pigeonhole.benchmarks.subject.Subject;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.Set;
import org.springframework.core.io.ClassPathResource;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.init.ScriptUtils;

/** A message is a marker in the metadata store, and a row in the channel store while it waits. */
public final class SpringIntegrationSubject implements Subject {

  private static final int THREADS = Setting.number("threads", 8);
  private static final int PRODUCERS = Setting.number("producers", 2);
  private static final int BATCH = Setting.number("batch", 100);
  private static final int POLLS = Setting.number("polls", 10);
  private static final int PAUSE_MILLIS = Setting.number("pauseMillis", 10);
  private static final int GUARD_THREADS = 8;

  @Override
  public String dedup() {
    return "JdbcMetadataStore.putIfAbsent answers a repeat with the value that is there, in the"
        + " transaction that queues or handles the message; the marker is kept for ever.";
  }

  @Override
  public String effects() {
    return "once: the handler and the removal from the queue are one transaction";
  }

  @Override
  public String settings() {
    return ("spring-integration-jdbc 7.0.5, JdbcMetadataStore and JdbcChannelMessageStore with the"
            + " queries for PostgreSQL; end-to-end: %d producers with %d messages a transaction, %d"
            + " threads with polls a transaction: %d (there is no poll for several), and a pause of %d ms"
            + " when there is none, messages written as bytes without Java serialisation, pool 24; guard: marker and effect in one transaction, %d"
            + " threads, pool %d")
        .formatted(PRODUCERS, BATCH, THREADS, POLLS, PAUSE_MILLIS, GUARD_THREADS, GUARD_THREADS);
  }

  @Override
  public Set<String> scenarios() {
    return Set.of("end-to-end", "guard");
  }

  @Override
  public void prepare(Run run) throws SQLException {
    try (Connection connection = run.connect()) {
      ScriptUtils.executeSqlScript(
          connection,
          new ClassPathResource("org/springframework/integration/jdbc/schema-postgresql.sql"));
    }
    try (Tables tables = new Tables(run.connect())) {
      tables.execute("CREATE TABLE effect (id text)");
    }
  }

  @Override
  public long work(Run run) throws Exception {
    return run.scenario().equals("guard") ? guard(run) : endToEnd(run);
  }

  private static long endToEnd(Run run) throws Exception {
    Calls calls = new Calls(run.messages());
    try (Tables tables = new Tables(run.connect());
        HikariDataSource pool = run.pool(24)) {
      Stores stores = new Stores(pool);
      Poller poller = new Poller(stores, calls, THREADS, POLLS, PAUSE_MILLIS);
      try {
        run.begin();
        Load.run(
            run.messages(),
            PRODUCERS,
            BATCH,
            (from, to) -> stores.inTransaction(() -> accept(stores, run, from, to)));
        calls.awaitAll();
        tables.awaitNone("int_channel_message");
        run.end();
      } finally {
        poller.stop();
      }
      long handled = tables.count("int_metadata_store") - tables.count("int_channel_message");
      return Math.min(handled, calls.once());
    }
  }

  private static boolean accept(Stores stores, Run run, int from, int to) {
    for (int i = from; i < to; i++) {
      if (stores.mark(run.id(i))) {
        stores.add(run.id(i), run.payload(i));
      }
    }
    return true;
  }

  private static long guard(Run run) throws Exception {
    try (Tables tables = new Tables(run.connect());
        HikariDataSource pool = run.pool(GUARD_THREADS)) {
      Stores stores = new Stores(pool);
      JdbcTemplate effects = new JdbcTemplate(pool);
      run.begin();
      Load.run(
          run.messages(),
          GUARD_THREADS,
          1,
          (from, to) -> stores.inTransaction(() -> handle(stores, effects, run.id(from))));
      run.end();
      tables.checkOnce("effect", "id", run.messages());
      return tables.count("int_metadata_store");
    }
  }

  private static boolean handle(Stores stores, JdbcTemplate effects, String id) {
    if (!stores.mark(id)) {
      return false;
    }
    effects.update("INSERT INTO effect (id) VALUES (?)", id);
    return true;
  }
}
