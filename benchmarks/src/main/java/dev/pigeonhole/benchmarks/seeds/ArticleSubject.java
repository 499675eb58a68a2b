package dev.pigeonhole.benchmarks.seeds;

import dev.pigeonhole.benchmarks.peers.Tables;
import dev.pigeonhole.benchmarks.subject.Run;
import dev.pigeonhole.benchmarks.subject.Subject;
import java.util.Set;

/**
 * The inbox of an article: an insert that ignores what is there, and processors that lock a batch
 * with SKIP LOCKED and mark it with one UPDATE.
 */
public final class ArticleSubject implements Subject {

  private static final int PROCESSORS = 2;

  @Override
  public String dedup() {
    return "the primary key of the message, kept after completion; one handler for each message";
  }

  @Override
  public String effects() {
    return "once, if the handler uses the loop's connection: a batch is one transaction";
  }

  @Override
  public String settings() {
    return "%d consumers, one insert in each commit; %d processors, batches of %d; JSONB content"
        .formatted(SeedLoop.CONSUMERS, PROCESSORS, ArticleLoop.BATCH);
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
          CREATE TABLE inbox_messages (
            id uuid PRIMARY KEY,
            type varchar(255) NOT NULL,
            content jsonb NOT NULL,
            received_on_utc timestamptz NOT NULL,
            processed_on_utc timestamptz NULL,
            error text NULL
          )""",
          """
          CREATE INDEX idx_inbox_messages_unprocessed
            ON inbox_messages (received_on_utc, processed_on_utc) INCLUDE (id, type, content)
            WHERE processed_on_utc IS NULL
          """);
    }
  }

  @Override
  public long work(Run run) throws Exception {
    return new ArticleLoop(run).play(PROCESSORS);
  }
}
