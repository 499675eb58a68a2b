package dev.pigeonhole.benchmarks.pigeonhole;

import dev.pigeonhole.benchmarks.inbox.Lanes;
import dev.pigeonhole.benchmarks.inbox.Messages;
import dev.pigeonhole.benchmarks.subject.Crew;
import dev.pigeonhole.benchmarks.subject.Run;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Arrays;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Fills millions of rows that nobody can tell from accepted ones: numbers in steps of the sequence,
 * ids and lanes from here, the content and its real hash made by the server.
 */
final class PostgresPrefill implements Prefill {

  private static final int THREADS = 2;

  /** The step of the sequence. */
  private static final int ROWS_PER_STATEMENT = 1000;

  // In front of the content, the hash covers the length of the media type, that there is content,
  // and the media type.
  private static final String FILL =
      """
      WITH base AS MATERIALIZED (
        SELECT nextval('pigeonhole_message_seq') AS seq
      ), given AS (
        SELECT base.seq + i.n - 1 AS seq, i.id, i.lane,
               int4send(?::int + i.n::int - 1) || ?::bytea AS content
        FROM base CROSS JOIN unnest(?::text[], ?::int[]) WITH ORDINALITY AS i(id, lane, n)
      ), filled AS (
        INSERT INTO pigeonhole_message (seq, source, id, type, channel, transport, lane, content,
                                        content_type, headers, content_hash, received_at, token)
        SELECT seq, 'load', id, 'load', 'load', 'local', lane, content,
               'application/octet-stream', ''::bytea,
               substr(sha256('\\x0000001801'::bytea || 'application/octet-stream'::bytea || content),
                      1, 16),
               clock_timestamp() - make_interval(days => ?), ?
        FROM given
        RETURNING seq, lane, received_at, token
      )
      """;

  /** The first version of a message's deliveries, as {@code Versions} takes it from the token. */
  private static final String VERSION = "((f.token >> 33) & 2147483647) << 32";

  private static final String DELIVERIES =
      """
      INSERT INTO pigeonhole_delivery (lane, handler, seq, key_id, version)
      SELECT f.lane, h.family, f.seq, h.key_id, %s FROM filled f CROSS JOIN pigeonhole_handler h
      """
          .formatted(VERSION);

  private static final String RECEIPTS =
      """
      INSERT INTO pigeonhole_receipt (seq, handler, key_id, completed_at, failures, crashes, releases)
      SELECT f.seq, h.family, h.key_id, f.received_at, 0, 0, 0
      FROM filled f CROSS JOIN pigeonhole_handler h
      """;

  private static final String LATER =
      """
      INSERT INTO pigeonhole_later (lane, handler, seq, key_id, version, due_at, reason)
      SELECT f.lane, h.family, f.seq, h.key_id, %s, clock_timestamp() + interval '1 day', 'not before'
      FROM filled f CROSS JOIN pigeonhole_handler h
      """
          .formatted(VERSION);

  private final Run run;

  PostgresPrefill(Run run) {
    this.run = run;
  }

  @Override
  public void fresh() throws Exception {
    fill(Messages.of(run), DELIVERIES, 0);
  }

  @Override
  public void finished(int rows, int days) throws Exception {
    fill(Messages.before(run, rows), RECEIPTS, days);
  }

  @Override
  public void notDue(int rows) throws Exception {
    fill(Messages.before(run, rows), LATER, 0);
  }

  private void fill(Messages messages, String rest, int days) throws Exception {
    LoadedInbox.counting(run, messages, 1).close(); // its handler has its numbers from now on
    AtomicInteger next = new AtomicInteger();
    Crew.run(
        THREADS,
        member -> {
          try (Connection connection = run.connect();
              PreparedStatement fill = connection.prepareStatement(FILL + rest)) {
            execute(connection, "SET synchronous_commit = off");
            int all = messages.count();
            int step = ROWS_PER_STATEMENT;
            for (int from = next.getAndAdd(step); from < all; from = next.getAndAdd(step)) {
              fill(fill, messages, from, Math.min(from + step, all), days);
            }
          }
        });
    tidyUp();
  }

  private static void fill(PreparedStatement fill, Messages messages, int from, int to, int days)
      throws SQLException {
    String[] ids = new String[to - from];
    int[] lanes = new int[to - from];
    for (int i = 0; i < ids.length; i++) {
      ids[i] = messages.id(from + i);
      lanes[i] = Lanes.of(ids[i]);
    }
    byte[] payload = messages.payload(from);
    fill.setInt(1, Messages.number(payload));
    fill.setBytes(2, Arrays.copyOfRange(payload, Integer.BYTES, payload.length));
    fill.setObject(3, ids);
    fill.setObject(4, lanes);
    fill.setInt(5, days);
    fill.setLong(6, ThreadLocalRandom.current().nextLong());
    fill.executeUpdate();
  }

  /** As tables are that have grown over weeks; and what was written is not left to the run. */
  private void tidyUp() throws SQLException {
    try (Connection connection = run.connect()) {
      execute(
          connection,
          "VACUUM (ANALYZE) pigeonhole_message, pigeonhole_receipt, pigeonhole_delivery,"
              + " pigeonhole_later");
      checkpoint(connection);
    }
  }

  private static void checkpoint(Connection connection) {
    try {
      execute(connection, "CHECKPOINT");
    } catch (SQLException e) {
      // Not everybody may ask for one; then some of it is left to the run.
    }
  }

  private static void execute(Connection connection, String sql) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      statement.execute(sql);
    }
  }
}
