package dev.pigeonhole.benchmarks.floor;

import dev.pigeonhole.benchmarks.inbox.Completions;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;

/**
 * Reads what is due in its lanes, hands the content to the handlers, and settles: one statement to
 * read, one to settle. For one thread.
 */
final class Deliverer {

  static final int BATCH = 500;

  // A plan that was made while the tables were small must do for large ones.
  private static final String BY_INDEX =
      "SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off;"
          + " SET enable_bitmapscan = off";

  // Indexes: delivery_pk, message_pk. All handlers have the same rows; the content comes with the
  // first of them.
  private static final String READ =
      """
      SELECT r.n, d.handler, d.seq, d.version, m.content
      FROM unnest(?::int[], ?::bigint[]) WITH ORDINALITY AS r(lane, beyond, n)
      CROSS JOIN generate_series(1, %d) AS h
      CROSS JOIN LATERAL (
        SELECT handler, seq, version FROM pigeonhole_delivery
        WHERE lane = r.lane AND handler = h AND seq > r.beyond
        ORDER BY seq LIMIT %d
      ) AS d
      LEFT JOIN pigeonhole_message m ON m.seq = d.seq AND d.handler = 1
      """;

  // Index: delivery_pk. The array keeps the server from walking through all of it.
  private static final String SETTLE =
      """
      WITH gone AS (
        DELETE FROM pigeonhole_delivery d
        USING unnest(?::int[], ?::int[], ?::bigint[], ?::int[]) AS i(lane, handler, seq, version)
        WHERE d.lane = ANY (ARRAY[i.lane]) AND d.handler = i.handler AND d.seq = i.seq
          AND d.version = i.version
        RETURNING d.seq, d.handler, d.key_id, d.failures, d.crashes, d.releases
      )
      INSERT INTO pigeonhole_receipt (seq, handler, key_id, completed_at, failures, crashes, releases)
      SELECT seq, handler, key_id, clock_timestamp(), failures, crashes, releases FROM gone
      """;

  private final int[] lanes;
  private final long[] beyond;
  private final Completions completions;
  private final PreparedStatement read;
  private final PreparedStatement settle;

  // What was read, column by column, as it goes into the statement that settles it.
  private final int[] rowLanes = new int[BATCH];
  private final int[] rowHandlers = new int[BATCH];
  private final long[] rowSeqs = new long[BATCH];
  private final int[] rowVersions = new int[BATCH];

  Deliverer(Connection connection, int[] lanes, int handlers, Completions completions)
      throws SQLException {
    this.lanes = lanes;
    this.beyond = new long[lanes.length];
    this.completions = completions;
    try (Statement statement = connection.createStatement()) {
      statement.execute(BY_INDEX);
    }
    int rowsOfCell = Math.max(1, BATCH / (lanes.length * handlers));
    this.read = connection.prepareStatement(READ.formatted(handlers, rowsOfCell));
    this.settle = connection.prepareStatement(SETTLE);
  }

  /**
   * Reads, handles and settles once.
   *
   * @param complete no message up to this number appears after the call
   * @return how many deliveries that were
   */
  int turn(long complete) throws SQLException {
    Map<Long, byte[]> contents = new HashMap<>(2 * BATCH);
    int rows = read(complete, contents);
    for (int i = 0; i < rows; i++) {
      byte[] content = Objects.requireNonNull(contents.get(rowSeqs[i]));
      completions.handled(rowHandlers[i] - 1, content);
    }
    if (rows > 0) {
      settle(rows);
    }
    return rows;
  }

  private int read(long complete, Map<Long, byte[]> contents) throws SQLException {
    read.setObject(1, lanes);
    read.setObject(2, beyond);
    int rows = 0;
    try (ResultSet row = read.executeQuery()) {
      for (; row.next(); rows++) {
        int lane = row.getInt(1) - 1;
        long seq = row.getLong(3);
        rowLanes[rows] = lanes[lane];
        rowHandlers[rows] = row.getInt(2);
        rowSeqs[rows] = seq;
        rowVersions[rows] = row.getInt(4);
        if (rowHandlers[rows] == 1) {
          contents.put(seq, row.getBytes(5));
        }
        beyond[lane] = Math.max(beyond[lane], Math.min(seq, complete));
      }
    }
    return rows;
  }

  private void settle(int rows) throws SQLException {
    settle.setObject(1, Arrays.copyOf(rowLanes, rows));
    settle.setObject(2, Arrays.copyOf(rowHandlers, rows));
    settle.setObject(3, Arrays.copyOf(rowSeqs, rows));
    settle.setObject(4, Arrays.copyOf(rowVersions, rows));
    if (settle.executeUpdate() != rows) {
      throw new IllegalStateException("Somebody else has settled some of them");
    }
  }
}
