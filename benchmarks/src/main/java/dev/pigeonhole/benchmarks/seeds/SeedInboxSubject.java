package dev.pigeonhole.benchmarks.seeds;

import dev.pigeonhole.benchmarks.peers.Tables;
import dev.pigeonhole.benchmarks.subject.Run;
import dev.pigeonhole.benchmarks.subject.Subject;
import java.util.Set;

/**
 * An inbox with a status row for each handler: one processor holds a lock, marks a batch as under
 * way, and saves the result of every handler at once.
 */
public final class SeedInboxSubject implements Subject {

  // The lock lets one in.
  private static final int PROCESSORS = 1;

  @Override
  public String dedup() {
    return "(message id, handler key), kept after completion";
  }

  @Override
  public String effects() {
    return "at least once: the handler and its completion are apart";
  }

  @Override
  public String settings() {
    return "%d consumers, one message in each commit; 1 processor, batches of %d"
        .formatted(SeedLoop.CONSUMERS, SeedInboxLoop.BATCH);
  }

  @Override
  public Set<String> scenarios() {
    return Set.of("end-to-end");
  }

  @Override
  public void prepare(Run run) throws Exception {
    try (Tables tables = new Tables(run.connect())) {
      tables.execute(
          """
          CREATE TABLE inbox_message (
            id varchar(200) PRIMARY KEY,
            transport_name text NOT NULL,
            content bytea NOT NULL,
            serialized_properties text NOT NULL,
            received_at timestamptz NOT NULL
          )""",
          """
          CREATE TABLE inbox_handler_status (
            id uuid PRIMARY KEY,
            message_id varchar(200) NOT NULL REFERENCES inbox_message (id),
            handler_key varchar(200) NOT NULL,
            error_count int NOT NULL DEFAULT 0,
            last_error text,
            processing_started_at timestamptz,
            next_attempt_at timestamptz,
            is_poisoned boolean NOT NULL DEFAULT false,
            completed_at timestamptz,
            version int NOT NULL DEFAULT 0,
            UNIQUE (message_id, handler_key)
          )""",
          """
          CREATE INDEX inbox_handler_status_pending ON inbox_handler_status (id)
            WHERE completed_at IS NULL AND NOT is_poisoned
          """);
    }
  }

  @Override
  public long work(Run run) throws Exception {
    return new SeedInboxLoop(run).play(PROCESSORS);
  }
}
