package dev.pigeonhole.benchmarks.floor;

import dev.pigeonhole.benchmarks.inbox.Lanes;
import dev.pigeonhole.benchmarks.inbox.Messages;
import java.nio.ByteBuffer;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;

/** Accepts a batch with one statement, which commits itself. For one thread. */
final class Acceptor {

  static final int BATCH = 500;

  // A larger statement gains nothing and spills what it unpacks to disk.
  private static final int BYTES_PER_STATEMENT = 4_000_000;

  static final int HASH_BYTES = 16;

  // What is the same in every row stands in the text. Arbiter: message_identity.
  private static final String ACCEPT =
      """
      WITH base AS MATERIALIZED (
        SELECT nextval('pigeonhole_message_seq') AS seq, clock_timestamp() AS now
      ), fresh AS (
        INSERT INTO pigeonhole_message (seq, source, id, type, channel, transport, lane, content,
                                        content_type, headers, content_hash, received_at, token)
        SELECT base.seq + i.n, 'load', i.id, 'load', 'load', 'local', i.lane, i.content,
               'application/octet-stream', ''::bytea, i.hash, base.now, base.seq
        FROM base CROSS JOIN unnest(?::text[], ?::int[], ?::bytea[], ?::bytea[]) WITH ORDINALITY
          AS i(id, lane, content, hash, n)
        ON CONFLICT (source, id) DO NOTHING
        RETURNING seq, lane
      ), ready AS (
        INSERT INTO pigeonhole_delivery (lane, handler, seq, key_id)
        SELECT f.lane, h, f.seq, h FROM fresh f CROSS JOIN generate_series(1, %d) AS h
      )
      SELECT base.seq, (SELECT count(*) FROM fresh) FROM base
      """;

  private final PreparedStatement statement;

  Acceptor(Connection connection, int handlers) throws SQLException {
    statement = connection.prepareStatement(ACCEPT.formatted(handlers));
  }

  /** How many messages of this size go into one statement. */
  static int batch(int payloadBytes) {
    return Math.max(1, Math.min(BATCH, BYTES_PER_STATEMENT / payloadBytes));
  }

  /**
   * Accepts the messages {@code from} (inclusive) {@code to} (exclusive).
   *
   * @return the highest number that one of them has got
   */
  long accept(Messages messages, int from, int to) throws SQLException {
    int rows = to - from;
    String[] ids = new String[rows];
    int[] lanes = new int[rows];
    byte[][] contents = new byte[rows][];
    byte[][] hashes = new byte[rows][];
    for (int i = 0; i < rows; i++) {
      ids[i] = messages.id(from + i);
      lanes[i] = Lanes.of(ids[i]);
      contents[i] = messages.payload(from + i);
      hashes[i] = ByteBuffer.allocate(HASH_BYTES).putInt(from + i).array();
    }
    // The driver sends arrays of these types as binary; those of java.sql.Array can only be boxed.
    statement.setObject(1, ids);
    statement.setObject(2, lanes);
    statement.setObject(3, contents);
    statement.setObject(4, hashes);
    try (ResultSet result = statement.executeQuery()) {
      result.next();
      if (result.getInt(2) != rows) {
        throw new IllegalStateException("Not all of a batch were new");
      }
      return result.getLong(1) + rows;
    }
  }
}
