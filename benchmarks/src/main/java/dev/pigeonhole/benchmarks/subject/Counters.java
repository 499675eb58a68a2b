package dev.pigeonhole.benchmarks.subject;

import com.sun.management.OperatingSystemMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;

/** Time, log, commits, dead rows and processor time between the begin and the end of a run. */
final class Counters implements AutoCloseable {

  private static final OperatingSystemMXBean SYSTEM =
      ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);

  // What Linux counts processor time in: a hundredth of a second.
  private static final double TICKS = 100;

  // Before this version a process of its own collected what sessions report, twice a second.
  private static final int COUNTS_AT_ONCE = 15;

  private final Connection connection;
  private final boolean postgres;
  private final long server;
  private final Map<String, Double> measured = new LinkedHashMap<>();
  private long began;
  private long ended;

  /**
   * @param connection one that nobody else uses
   * @param server the process whose descendants serve the database; 0 where it is unknown
   */
  Counters(Connection connection, long server) throws SQLException {
    this.connection = connection;
    this.postgres = connection.getMetaData().getDatabaseProductName().equals("PostgreSQL");
    this.server = server;
  }

  void begin() throws SQLException {
    if (postgres) {
      count("walBytes", "SELECT pg_current_wal_insert_lsn() - '0/0'", -1);
      count("commits", COMMITS, -1);
      count("deadTuples", DEAD, -1);
    }
    add("serverCpuSeconds", -serverSeconds());
    add("clientCpuSeconds", -SYSTEM.getProcessCpuTime() / 1e9);
    began = System.nanoTime();
  }

  void end() throws SQLException {
    ended = System.nanoTime();
    add("clientCpuSeconds", SYSTEM.getProcessCpuTime() / 1e9);
    add("serverCpuSeconds", serverSeconds());
    add("seconds", (ended - began) / 1e9);
    if (postgres) {
      count("walBytes", "SELECT pg_current_wal_insert_lsn() - '0/0'", 1);
    }
  }

  /** What servers tell only after those who did it have gone. */
  Map<String, Double> settled() throws SQLException {
    if (ended == 0) {
      throw new IllegalStateException("The subject has not said when its work began and ended");
    }
    if (postgres) {
      awaitEveryoneGone();
      count("commits", COMMITS, 1);
      count("deadTuples", DEAD, 1);
    }
    return measured;
  }

  /** A session reports what it did before it disappears; on a borrowed server others may stay. */
  private void awaitEveryoneGone() throws SQLException {
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(server > 0 ? 60 : 2);
    while (number(OTHERS) > 0 && System.nanoTime() < deadline) {
      LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(5));
    }
    if (connection.getMetaData().getDatabaseMajorVersion() < COUNTS_AT_ONCE) {
      LockSupport.parkNanos(TimeUnit.SECONDS.toNanos(2));
    }
  }

  private static final String OTHERS =
      "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
          + " AND backend_type = 'client backend' AND pid <> pg_backend_pid()";

  private static final String COMMITS =
      "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()";

  private static final String DEAD =
      "SELECT coalesce(sum(n_tup_del + n_tup_upd), 0) FROM pg_stat_user_tables"
          + " WHERE schemaname NOT LIKE 'pg!_%' ESCAPE '!'";

  private void count(String name, String query, int sign) throws SQLException {
    add(name, sign * number(query));
  }

  private double number(String query) throws SQLException {
    try (Statement statement = connection.createStatement();
        ResultSet result = statement.executeQuery(query)) {
      result.next();
      return result.getDouble(1);
    }
  }

  private void add(String name, double value) {
    measured.merge(name, value, Double::sum);
  }

  /**
   * Of the server and all it has started; processes that have ended are in their parent's count.
   */
  private double serverSeconds() {
    double ticks = 0;
    Deque<Long> processes = new ArrayDeque<>();
    if (server > 0) {
      processes.add(server);
    }
    while (!processes.isEmpty()) {
      long pid = processes.remove();
      Path process = Path.of("/proc", Long.toString(pid));
      try {
        String stat = Files.readString(process.resolve("stat"));
        // Behind the name, which may hold blanks, the fields 14 to 17 are the 12th to 15th.
        String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ");
        for (int field = 11; field <= 14; field++) {
          ticks += Long.parseLong(fields[field]);
        }
        processes.addAll(children(process));
      } catch (IOException e) {
        // It has ended; its parent counts it.
      }
    }
    return ticks / TICKS;
  }

  private static Deque<Long> children(Path process) throws IOException {
    Deque<Long> children = new ArrayDeque<>();
    String pid = process.getFileName().toString();
    String text = Files.readString(process.resolve("task").resolve(pid).resolve("children"));
    Stream.of(text.trim().split(" "))
        .filter(s -> !s.isEmpty())
        .map(Long::valueOf)
        .forEach(children::add);
    return children;
  }

  @Override
  public void close() throws SQLException {
    connection.close();
  }
}
