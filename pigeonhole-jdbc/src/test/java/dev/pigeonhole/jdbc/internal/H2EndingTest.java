package dev.pigeonhole.jdbc.internal;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.jdbc.internal.Session.LockWait;
import dev.pigeonhole.support.Eventually;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import javax.sql.DataSource;
import org.h2.jdbcx.JdbcDataSource;
import org.h2.store.fs.FilePath;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * While H2 writes its file, no other transaction of ours becomes a committed one: its tables are
 * taken one after the other, so the file could get half of it.
 */
class H2EndingTest {
  private static final String INSERT = "INSERT INTO t (id) VALUES (?)";

  private DataSource dataSource;
  private Jdbc jdbc;

  @BeforeEach
  void open(@TempDir Path directory) throws SQLException {
    FilePath.register(HeldFiles.SCHEME);
    String url = "jdbc:h2:held:" + directory.resolve("db") + ";WRITE_DELAY=0;DB_CLOSE_DELAY=-1";
    JdbcDataSource h2 = new JdbcDataSource();
    h2.setUrl(url);
    dataSource = h2;
    execute("CREATE TABLE t (id int PRIMARY KEY)");
    jdbc = new Jdbc(dataSource, new H2Dialect(), new Tables('"', "PUBLIC", "pigeonhole_"), null);
  }

  @AfterEach
  void close() throws SQLException {
    HeldFiles.released.countDown();
    execute("SHUTDOWN");
    FilePath.unregister(HeldFiles.SCHEME);
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void nothingIsCommittedWhileAnotherTransactionIsWrittenToTheFile(boolean commits)
      throws Exception {
    HeldFiles.hold();
    Thread first = new Thread(() -> end(1, commits));
    Thread second = new Thread(() -> end(2, true));
    first.start();
    HeldFiles.reached.await();

    second.start();
    Eventually.until(
        "the second to wait for its turn",
        Duration.ofMinutes(5),
        () -> second.getState() == Thread.State.WAITING);
    assertThat(count()).as("the first is committed, the second is not").isEqualTo(commits ? 1 : 0);

    HeldFiles.released.countDown();
    first.join();
    second.join();
    assertThat(count()).isEqualTo(commits ? 2 : 1);
  }

  private void end(int id, boolean commits) {
    try {
      jdbc.once(
          LockWait.NORMAL,
          session -> {
            session.update(INSERT, params -> params.add(id));
            if (!commits) {
              throw new IllegalStateException("rolls back");
            }
            return id;
          });
    } catch (IllegalStateException e) {
      assertThat(commits).isFalse();
    }
  }

  private int count() throws SQLException {
    try (Connection connection = dataSource.getConnection();
        Statement statement = connection.createStatement();
        ResultSet row = statement.executeQuery("SELECT COUNT(*) FROM t")) {
      row.next();
      return row.getInt(1);
    }
  }

  private void execute(String sql) throws SQLException {
    try (Connection connection = dataSource.getConnection();
        Statement statement = connection.createStatement()) {
      statement.execute(sql);
    }
  }
}
