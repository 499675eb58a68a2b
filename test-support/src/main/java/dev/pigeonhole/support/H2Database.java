package dev.pigeonhole.support;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.UUID;

/** H2 inside this JVM: in a file that survives a kill, or in memory. */
public final class H2Database {

  private H2Database() {}

  /**
   * A file database that flushes at every commit. It stays open, and locked against other
   * processes, from the first connection to {@code SHUTDOWN} or close.
   */
  public static TestDatabase file() {
    Path directory = Scratch.directory("h2");
    Runnable cleanup = () -> Scratch.delete(directory);
    AtExit.add(cleanup);
    // By default H2 flushes half a second after the commit, and a kill loses what it confirmed.
    String url = "jdbc:h2:file:" + directory.resolve("db") + ";WRITE_DELAY=0;DB_CLOSE_DELAY=-1";
    return database(
        directory.getFileName().toString(),
        url,
        () -> {
          shutDown(url);
          cleanup.run();
          AtExit.remove(cleanup);
        });
  }

  /** A database that exists until it is closed. */
  public static TestDatabase memory() {
    String name = "t_" + UUID.randomUUID().toString().substring(0, 8);
    String url = "jdbc:h2:mem:" + name + ";DB_CLOSE_DELAY=-1";
    return database(name, url, () -> shutDown(url));
  }

  private static TestDatabase database(String name, String url, TestDatabase.Drop drop) {
    return new TestDatabase("sa", "", new TestDatabase.Place(name, url, drop));
  }

  private static void shutDown(String url) throws SQLException {
    try (Connection connection =
            TestDatabase.plainDataSource(DatabaseKind.H2, url, "sa", "").getConnection();
        Statement statement = connection.createStatement()) {
      statement.execute("SHUTDOWN");
    }
  }
}
