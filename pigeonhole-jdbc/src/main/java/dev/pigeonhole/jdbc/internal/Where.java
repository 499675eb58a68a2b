package dev.pigeonhole.jdbc.internal;

import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;

/** Conditions that are put together per call, with their values in the same order. */
final class Where {
  private final List<String> conditions = new ArrayList<>();
  private final List<Session.Bind> binds = new ArrayList<>();

  /** Adds a condition without a value of its own. */
  Where and(String condition) {
    conditions.add(condition);
    return this;
  }

  Where and(String condition, Session.Bind bind) {
    conditions.add(condition);
    binds.add(bind);
    return this;
  }

  /** The clause, or nothing if there are no conditions. */
  String text() {
    return conditions.isEmpty() ? "" : " WHERE " + String.join(" AND ", conditions);
  }

  void bind(Params params) throws SQLException {
    for (Session.Bind each : binds) {
      each.bind(params);
    }
  }
}
