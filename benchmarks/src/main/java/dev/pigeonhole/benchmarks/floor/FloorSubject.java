package dev.pigeonhole.benchmarks.floor;

import com.zaxxer.hikari.HikariDataSource;
import dev.pigeonhole.benchmarks.inbox.Effects;
import dev.pigeonhole.benchmarks.subject.Run;
import dev.pigeonhole.benchmarks.subject.Subject;
import dev.pigeonhole.jdbc.Schema;
import java.sql.Connection;
import java.util.Set;

/**
 * Bare SQL on the tables of an inbox, on PostgreSQL. It does what must be durable, and leaves out
 * what makes a library of it: no retries, no owners of lanes, no time limits, no hash of the
 * content, no look at what is there when something is not new. Where messages come from a broker it
 * is the raw client of that broker, with an insert for each batch into a table of its own.
 */
public final class FloorSubject implements Subject {

  @Override
  public String dedup() {
    return "(source, id) of a message and a receipt for each handler, both kept after completion";
  }

  @Override
  public String effects() {
    return "at least once, in batches; with the marker in one transaction in guard";
  }

  @Override
  public String settings() {
    return "the tables of Pigeonhole, 64 lanes; 2 producers, 2 deliverers with 32 lanes each; one"
        + " statement and one commit for up to %d messages; statements prepared once; arrays sent as"
            .formatted(Acceptor.BATCH)
        + " binary; single accepts and the guard: one statement and one commit for each message,"
        + " %d connections at most".formatted(Accepting.MOST_CONNECTIONS)
        + "; rabbitmq: prefetch %d, one insert for up to %d messages or %d ms, one acknowledgement for each insert"
            .formatted(
                RabbitConsuming.PREFETCH, RabbitConsuming.BATCH, RabbitConsuming.GATHER_MILLIS)
        + "; kafka: one insert and one commitSync for each poll of up to %d records; both into a"
            .formatted(KafkaConsuming.BATCH)
        + " table without a key, which knows no repeats";
  }

  @Override
  public Set<String> scenarios() {
    return Set.of(
        "accept-batch",
        "accept-single-1",
        "accept-single-8",
        "accept-single-64",
        "drain",
        "end-to-end",
        "handlers-5",
        "payload-200",
        "payload-2k",
        "payload-50k",
        "guard",
        "rabbitmq",
        "kafka");
  }

  @Override
  public void prepare(Run run) throws Exception {
    try (HikariDataSource pool = run.pool(1);
        Connection connection = run.connect()) {
      Schema.migrate(pool);
      Effects.create(connection, 0);
    }
  }

  @Override
  public long work(Run run) throws Exception {
    String scenario = run.scenario();
    if (scenario.equals("accept-batch")) {
      return Accepting.batches(run);
    }
    if (scenario.startsWith("accept-single")) {
      return Accepting.singles(run, run.number("threads"));
    }
    return switch (scenario) {
      case "drain" -> Delivering.drain(run);
      case "guard" -> GuardRuns.all(run);
      case "rabbitmq" -> RabbitConsuming.all(run);
      case "kafka" -> KafkaConsuming.all(run);
      case "handlers-5" -> Delivering.endToEnd(run, run.number("handlers"));
      default -> Delivering.endToEnd(run, 1);
    };
  }
}
