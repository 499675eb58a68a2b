package dev.pigeonhole.benchmarks.floor;

import com.zaxxer.hikari.HikariDataSource;
import dev.pigeonhole.benchmarks.subject.Run;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;

/** The connections of a run: all open before it begins, and kept, one for each thread. */
final class Connections implements AutoCloseable {

  private final HikariDataSource pool;
  private final List<Connection> open = new ArrayList<>();

  Connections(Run run, int size) throws SQLException {
    pool = run.pool(size);
    try {
      for (int i = 0; i < size; i++) {
        open.add(pool.getConnection());
      }
    } catch (SQLException e) {
      close();
      throw e;
    }
  }

  Connection get(int member) {
    return open.get(member);
  }

  @Override
  public void close() throws SQLException {
    try (pool) {
      for (Connection connection : open) {
        connection.close();
      }
    }
  }
}
