package dev.pigeonhole.benchmarks.pigeonhole;

import com.zaxxer.hikari.HikariDataSource;
import dev.pigeonhole.benchmarks.inbox.Effects;
import dev.pigeonhole.benchmarks.subject.Run;
import dev.pigeonhole.benchmarks.subject.Subject;
import dev.pigeonhole.jdbc.Schema;
import java.sql.Connection;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Set;

/** Pigeonhole in all scenarios, with its defaults unless {@link #settings} says otherwise. */
public final class PigeonholeSubject implements Subject {

  private static final Map<String, Scenario> SCENARIOS = new LinkedHashMap<>();

  static {
    SCENARIOS.put("accept-batch", Accepting::batches);
    SCENARIOS.put("accept-single-1", Accepting::singles);
    SCENARIOS.put("accept-single-8", Accepting::singles);
    SCENARIOS.put("accept-single-64", Accepting::singles);
    SCENARIOS.put("drain", Draining::accepted);
    SCENARIOS.put("backlog", Draining::prefilled);
    SCENARIOS.put("end-to-end", EndToEnd::plain);
    SCENARIOS.put("handlers-5", run -> EndToEnd.withHandlers(run, run.number("handlers")));
    SCENARIOS.put("payload-200", EndToEnd::plain);
    SCENARIOS.put("payload-2k", EndToEnd::plain);
    SCENARIOS.put("payload-50k", EndToEnd::plain);
    SCENARIOS.put("repeats-50", Repeats::half);
    SCENARIOS.put("ordered-1", Ordered::byKeys);
    SCENARIOS.put("ordered-100", Ordered::byKeys);
    SCENARIOS.put("ordered-10000", Ordered::byKeys);
    SCENARIOS.put("guard", GuardRuns::all);
    SCENARIOS.put("transactional-1", Transactional::effects);
    SCENARIOS.put("transactional-50", Transactional::effects);
    SCENARIOS.put("latency", Latency::atRate);
    SCENARIOS.put("workers-1", Workers::drain);
    SCENARIOS.put("workers-2", Workers::drain);
    SCENARIOS.put("workers-4", Workers::drain);
    SCENARIOS.put("grown", EndToEnd::afterManyFinished);
    SCENARIOS.put("not-due", EndToEnd::besideManyNotDue);
    SCENARIOS.put("prune", Steady::whilePruning);
    SCENARIOS.put("held-snapshot", Steady::underSnapshot);
    SCENARIOS.put("rabbitmq", Receiving::fromRabbit);
    SCENARIOS.put("kafka", Receiving::fromKafka);
  }

  @Override
  public String dedup() {
    return "(source, id) of a message and a receipt for each handler, both kept after completion";
  }

  @Override
  public String effects() {
    return "at least once with plain handlers, as in end-to-end, where a crash repeats what was not settled;"
        + " once in guard and transactional-*, whose writes commit with the receipt";
  }

  @Override
  public String settings() {
    return "defaults: 64 lanes, 8 slots for each handler, batches of 500; a pool of "
        + LoadedInbox.POOL
        + "; accepted by 2 threads in batches of "
        + LoadedInbox.BATCH
        + " (single accepts, guard and latency: one message for each call); payloads are byte[], so"
        + " no codec takes part; workers-n: a beat of 200 ms, so that lanes are shared out sooner;"
        + " prune: keepReceipts(7 days); rabbitmq and kafka: sources with their defaults, one consumer"
        + " each";
  }

  @Override
  public Set<String> scenarios() {
    return SCENARIOS.keySet();
  }

  @Override
  public void prepare(Run run) throws Exception {
    try (HikariDataSource pool = run.pool(1);
        Connection connection = run.connect()) {
      Schema.migrate(pool);
      Effects.create(connection, run.number("hot", 0));
    }
  }

  @Override
  public long work(Run run) throws Exception {
    return Objects.requireNonNull(SCENARIOS.get(run.scenario()), run.scenario()).play(run);
  }
}
