package dev.pigeonhole.jdbc.internal;

import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.ConfigurationException.Problem;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.store.StoreSettings;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import javax.sql.DataSource;

/** Everything safety needs of the database, looked at before anything runs, in one report. */
final class StartupChecks {

  private final Jdbc jdbc;
  private final DataSource dataSource;

  StartupChecks(Jdbc jdbc, DataSource dataSource) {
    this.jdbc = jdbc;
    this.dataSource = dataSource;
  }

  /** Answers warnings; throws with every problem together. */
  List<String> run(StoreSettings settings) {
    List<Problem> problems = new ArrayList<>();
    List<String> warnings = new ArrayList<>();
    jdbc.read(
        session -> {
          version(session, problems);
          return true;
        });
    if (!problems.isEmpty()) {
      throw new ConfigurationException(problems);
    }
    return warnings;
  }

  private static void version(Session session, List<Problem> problems) throws SQLException {
    Map<Integer, String> applied = Migrations.applied(session);
    int newest = Migrations.scripts(session.dialect).size();
    if (applied.isEmpty()) {
      problems.add(
          new Problem(
              ErrorCode.SCHEMA_VERSION,
              "There are no tables '%s…' in %s. Call Schema.migrate(dataSource) once with a role that may create tables, or run the output of Schema.ofDefaults().sql(\"%s\")."
                  .formatted(
                      session.tables.plain(""), session.tables.schema(), session.dialect.name())));
    } else if (!applied.containsKey(newest)) {
      problems.add(
          new Problem(
              ErrorCode.SCHEMA_VERSION,
              "The tables have version %s and this library needs %d. Call Schema.migrate(dataSource)."
                  .formatted(applied.keySet(), newest)));
    }
  }
}
