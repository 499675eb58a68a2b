package dev.pigeonhole.jdbc.internal;

import java.sql.SQLException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

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

  /** What is wanted of the message {@code m}; what is null does not matter. */
  void ofMessage(
      @Nullable String type,
      @Nullable String channel,
      @Nullable String source,
      @Nullable String id,
      @Nullable Instant from,
      @Nullable Instant before) {
    equal("m.type", type);
    equal("m.channel", channel);
    equal("m.source", source);
    equal("m.id", id);
    if (from != null) {
      and("m.received_at >= ?", params -> params.add(from));
    }
    if (before != null) {
      and("m.received_at < ?", params -> params.add(before));
    }
  }

  private void equal(String column, @Nullable String value) {
    if (value != null) {
      and(column + " = ?", params -> params.add(value));
    }
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

  /**
   * A statement that counts the rows, no further than this.
   *
   * @param from tables, with their names resolved
   */
  String counting(String from, int most) {
    return "SELECT count(*) FROM (SELECT 1 AS one FROM %s%s LIMIT %d) c"
        .formatted(from, text(), most);
  }
}
