package dev.pigeonhole.benchmarks.peers.springmodulith;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import com.zaxxer.hikari.HikariDataSource;
import dev.pigeonhole.benchmarks.peers.Calls;
import dev.pigeonhole.benchmarks.peers.Markers;
import dev.pigeonhole.benchmarks.peers.Setting;
import dev.pigeonhole.benchmarks.peers.Tables;
import dev.pigeonhole.benchmarks.subject.Load;
import dev.pigeonhole.benchmarks.subject.Run;
import dev.pigeonhole.benchmarks.subject.Subject;
import java.sql.SQLException;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ApplicationEventPublisher;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.support.GenericApplicationContext;
import org.springframework.jdbc.core.ConnectionCallback;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

/** A message is an event with a publication; a table of ours refuses repeats, since it does not. */
public final class SpringModulithSubject implements Subject {

  private static final int THREADS = Setting.number("threads", 8);
  private static final int PRODUCERS = Setting.number("producers", 2);
  private static final int BATCH = Setting.number("batch", 100);
  private static final boolean DELETE = Setting.yes("delete", true);

  @Override
  public String dedup() {
    return "None of its own: a table of ours (INSERT … ON CONFLICT DO NOTHING in the transaction that"
        + " publishes) refuses repeats; that marker is kept for ever.";
  }

  @Override
  public String effects() {
    return "at least once: the listener's transaction and its completion are two";
  }

  @Override
  public String settings() {
    return ("Spring Modulith 2.1.1 on JDBC, completion mode %s, listener in %d threads, %d producers"
            + " with %d messages a transaction, pool 24; no other instance would take over its work")
        .formatted(DELETE ? "delete" : "update", THREADS, PRODUCERS, BATCH);
  }

  @Override
  public Set<String> scenarios() {
    return Set.of("end-to-end");
  }

  /** It makes its own table when it starts. */
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
        JdbcTemplate jdbc = application.getBean(JdbcTemplate.class);
        TransactionTemplate transactions =
            new TransactionTemplate(application.getBean(PlatformTransactionManager.class));
        run.begin();
        Load.run(
            run.messages(),
            PRODUCERS,
            BATCH,
            (from, to) ->
                transactions.executeWithoutResult(
                    status -> publish(application, jdbc, run, from, to)));
        calls.awaitAll();
        tables.awaitNone("event_publication WHERE completion_date IS NULL");
        run.end();
      }
      long completed =
          DELETE
              ? tables.count("marker") - tables.count("event_publication")
              : tables.count("event_publication WHERE completion_date IS NOT NULL");
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
                "spring.modulith.events.jdbc.schema-initialization.enabled",
                true,
                "spring.modulith.events.completion-mode",
                DELETE ? "delete" : "update",
                "spring.task.execution.pool.core-size",
                THREADS,
                "spring.task.execution.pool.max-size",
                THREADS))
        .initializers(
            context -> {
              GenericApplicationContext beans = (GenericApplicationContext) context;
              beans.registerBean("dataSource", HikariDataSource.class, () -> pool);
              beans.registerBean("calls", Calls.class, () -> calls);
            })
        .run();
  }

  private static void publish(
      ApplicationEventPublisher publisher, JdbcTemplate jdbc, Run run, int from, int to) {
    Set<String> fresh =
        Objects.requireNonNull(
            jdbc.execute(
                (ConnectionCallback<Set<String>>)
                    connection -> Markers.insert(connection, run, from, to)));
    for (int i = from; i < to; i++) {
      if (fresh.contains(run.id(i))) {
        publisher.publishEvent(new Received(run.id(i), new String(run.payload(i), ISO_8859_1)));
      }
    }
  }
}
