package dev.pigeonhole.benchmarks.pigeonhole;

import dev.pigeonhole.benchmarks.subject.Run;
import java.sql.Connection;
import java.sql.SQLException;

/** What is in the tables before a run begins. */
interface Prefill {

  static Prefill of(Run run) throws SQLException {
    try (Connection connection = run.connect()) {
      return connection.getMetaData().getDatabaseProductName().equals("PostgreSQL")
          ? new PostgresPrefill(run)
          : new AcceptedPrefill(run);
    }
  }

  /** The messages of the run itself, accepted and not yet delivered. */
  void fresh() throws Exception;

  /** So many others that one handler has finished so many days ago. */
  void finished(int rows, int days) throws Exception;

  /** So many others that are due tomorrow. */
  void notDue(int rows) throws Exception;
}
