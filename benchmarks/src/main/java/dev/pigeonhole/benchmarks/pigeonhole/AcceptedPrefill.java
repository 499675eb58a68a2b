package dev.pigeonhole.benchmarks.pigeonhole;

import dev.pigeonhole.Message;
import dev.pigeonhole.benchmarks.inbox.InboxTables;
import dev.pigeonhole.benchmarks.inbox.Messages;
import dev.pigeonhole.benchmarks.subject.Load;
import dev.pigeonhole.benchmarks.subject.Run;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;

/** Fills the tables of any database, through an inbox of its own. */
final class AcceptedPrefill implements Prefill {

  private final Run run;

  AcceptedPrefill(Run run) {
    this.run = run;
  }

  @Override
  public void fresh() throws Exception {
    try (LoadedInbox loaded = LoadedInbox.counting(run, Messages.of(run), 1)) {
      loaded.acceptAll();
    }
  }

  @Override
  public void finished(int rows, int days) throws Exception {
    if (rows == 0) {
      return;
    }
    try (LoadedInbox loaded = LoadedInbox.counting(run, Messages.before(run, rows), 1)) {
      loaded.start();
      loaded.acceptAll();
      loaded.awaitCompleted(rows);
    }
    String time = LocalDate.now(ZoneOffset.UTC).minusDays(days) + " 00:00:00";
    try (Connection connection = run.connect()) {
      date(connection, "message", "received_at", time);
      date(connection, "receipt", "completed_at", time);
    }
  }

  private static void date(Connection connection, String table, String column, String time)
      throws SQLException {
    String name = InboxTables.name(connection, table);
    try (Statement statement = connection.createStatement()) {
      statement.executeUpdate("UPDATE %s SET %s = '%s'".formatted(name, column, time));
    }
  }

  @Override
  public void notDue(int rows) throws Exception {
    Instant tomorrow = Instant.now().plus(Duration.ofDays(1));
    try (LoadedInbox loaded = LoadedInbox.counting(run, Messages.before(run, rows), 1)) {
      Load.run(
          rows,
          2,
          LoadedInbox.BATCH,
          (from, to) -> {
            List<Message> batch = new ArrayList<>();
            for (int i = from; i < to; i++) {
              batch.add(loaded.message(i).notBefore(tomorrow));
            }
            loaded.acceptNew(batch);
          });
    }
  }
}
