package dev.pigeonhole.benchmarks.peers;

import dev.pigeonhole.benchmarks.subject.Run;
import java.sql.Array;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.HashSet;
import java.util.Set;
import java.util.stream.IntStream;

/** A table that refuses repeats for a peer that does not, in the transaction of the peer. */
public final class Markers {

  public static final String TABLE = "CREATE TABLE marker (id text PRIMARY KEY)";

  // One statement for a whole batch, so that what the peer lacks costs it as little as it can.
  private static final String INSERT =
      "INSERT INTO marker (id) SELECT unnest(?) ON CONFLICT DO NOTHING RETURNING id";

  private Markers() {}

  /** Answers those ids of the messages {@code from} to {@code to} that are new. */
  public static Set<String> insert(Connection connection, Run run, int from, int to)
      throws SQLException {
    Set<String> fresh = new HashSet<>();
    Array ids =
        connection.createArrayOf("text", IntStream.range(from, to).mapToObj(run::id).toArray());
    try (PreparedStatement statement = connection.prepareStatement(INSERT)) {
      statement.setArray(1, ids);
      try (ResultSet inserted = statement.executeQuery()) {
        while (inserted.next()) {
          fresh.add(inserted.getString(1));
        }
      }
    } finally {
      ids.free();
    }
    return fresh;
  }
}
