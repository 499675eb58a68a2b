package dev.pigeonhole.benchmarks.floor;

import dev.pigeonhole.benchmarks.inbox.Effects;
import dev.pigeonhole.benchmarks.inbox.InboxTables;
import dev.pigeonhole.benchmarks.inbox.Lanes;
import dev.pigeonhole.benchmarks.inbox.Messages;
import dev.pigeonhole.benchmarks.subject.Crew;
import dev.pigeonhole.benchmarks.subject.Run;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.util.concurrent.atomic.AtomicInteger;

/** Identity, receipt and effect of one message in one commit, and even in one statement. */
final class GuardRuns {

  private static final int THREADS = 8;

  // As a guard writes them: without content, the receipt to be kept for seven days.
  private static final String RUN =
      """
      WITH fresh AS (
        INSERT INTO pigeonhole_message (seq, source, id, type, channel, transport, lane,
                                        content_type, headers, content_hash, token, dropped,
                                        received_at)
        VALUES (nextval('pigeonhole_message_seq'), 'load', ?, 'message', 'guard', 'guard', ?,
                'application/octet-stream', ''::bytea, decode(repeat('00', 16), 'hex'), 1, true,
                clock_timestamp())
        ON CONFLICT (source, id) DO NOTHING
        RETURNING seq
      ), done AS (
        INSERT INTO pigeonhole_receipt (seq, handler, key_id, completed_at, keep_until, token,
                                        failures, crashes, releases)
        SELECT seq, 1, 1, clock_timestamp(), clock_timestamp() + interval '7 days', 1, 0, 0, 0
        FROM fresh
        RETURNING seq
      )
      INSERT INTO effect (id) SELECT ? FROM done
      """;

  private GuardRuns() {}

  static long all(Run run) throws Exception {
    Messages messages = Messages.of(run);
    try (Connections connections = new Connections(run, THREADS)) {
      AtomicInteger next = new AtomicInteger();
      run.begin();
      Crew.run(
          THREADS,
          member -> {
            PreparedStatement statement = connections.get(member).prepareStatement(RUN);
            int all = messages.count();
            for (int i = next.getAndIncrement(); i < all; i = next.getAndIncrement()) {
              String id = messages.id(i);
              statement.setString(1, id);
              statement.setInt(2, Lanes.of(id));
              statement.setString(3, id);
              if (statement.executeUpdate() != 1) {
                throw new IllegalStateException("Not new: " + id);
              }
            }
          });
      run.end();
    }
    try (Connection connection = run.connect()) {
      Effects.check(connection, messages.count(), 0);
    }
    try (InboxTables tables = InboxTables.all(run.connect())) {
      return tables.checkCompleted(messages.count(), 1);
    }
  }
}
