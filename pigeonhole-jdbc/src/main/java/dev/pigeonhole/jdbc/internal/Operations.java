package dev.pigeonhole.jdbc.internal;

import dev.pigeonhole.store.AdminChange;
import dev.pigeonhole.store.CrashPoints;
import dev.pigeonhole.store.Operation;
import dev.pigeonhole.store.Place;
import java.sql.SQLException;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * Changes to many, and how far they have come. Whoever takes a step holds the operation's row: two
 * that run the same operation take turns, and the second finds the first one's step done.
 */
final class Operations {

  // Index: operation_pk.
  private static final String READ =
      """
      SELECT what, at_seq, at_handler, matched, changed, skipped, finished_at
      FROM {operation} WHERE operation_id = ?""";

  private static final String LOCK = READ + " FOR UPDATE";

  private static final String ADVANCE =
      """
      UPDATE {operation}
      SET at_seq = ?, at_handler = ?, matched = ?, changed = ?, skipped = ?, finished_at = :finished
      WHERE operation_id = ?
      """;

  /** Changes what was chosen. */
  interface Changing {

    /** Answers what came of each, in order; those behind the last answer are for another step. */
    List<AdminChange.Effect> change(Session session, List<Place> chosen) throws SQLException;
  }

  private final Jdbc jdbc;

  Operations(Jdbc jdbc) {
    this.jdbc = jdbc;
  }

  Operation begin(Operation operation, String actor, String reason) {
    return jdbc.transaction(
        session -> {
          session.insertIfAbsent(
              """
              INSERT INTO {operation} (operation_id, what, at_seq, at_handler, matched, changed, skipped, actor,
                                       reason, started_at)
              VALUES\s""",
              "operation_id",
              "(?, ?, 0, 0, 0, 0, '', ?, ?, {now})",
              List.of(operation),
              (params, each) -> params.add(each.name()).add(each.what()).add(actor).add(reason));
          // One that retention deletes in between is begun again.
          return read(session, READ, operation.name())
              .orElseThrow(() -> new SQLException("The operation was just forgotten", "40001"));
        });
  }

  Optional<Operation> find(String name) {
    return jdbc.read(session -> read(session, READ, name));
  }

  private static Optional<Operation> read(Session session, String statement, String name)
      throws SQLException {
    return session.one(
        statement,
        params -> params.add(name),
        row ->
            new Operation(
                name,
                row.getString(1),
                new Place(row.getLong(2), row.getInt(3)),
                row.getLong(4),
                row.getLong(5),
                skipped(row.getString(6)),
                session.dialect.read(row, 7) != null));
  }

  Operation step(Operation known, List<Place> chosen, boolean last, Changing changing) {
    return jdbc.transaction(
        session -> {
          Operation operation = read(session, LOCK, known.name()).orElseThrow();
          if (operation.finished() || !operation.at().equals(known.at())) {
            return operation;
          }
          List<AdminChange.Effect> effects = changing.change(session, chosen);
          boolean whole = effects.size() == chosen.size();
          Place reached = effects.isEmpty() ? operation.at() : chosen.get(effects.size() - 1);
          boolean done = last && whole;
          Operation after = operation.after(reached, effects, done);
          session.update(
              session.sql(ADVANCE).replace(":finished", done ? session.sql("{now}") : "NULL"),
              params ->
                  params
                      .add(after.at().seq())
                      .add(after.at().handler())
                      .add(after.matched())
                      .add(after.changed())
                      .add(text(after.skipped()))
                      .add(after.name()));
          CrashPoints.reach("operation.before-commit");
          return after;
        });
  }

  private static String text(Map<AdminChange.Effect, Long> skipped) {
    return skipped.entrySet().stream()
        .map(each -> each.getKey().name() + "=" + each.getValue())
        .collect(Collectors.joining(","));
  }

  private static Map<AdminChange.Effect, Long> skipped(String text) {
    Map<AdminChange.Effect, Long> skipped = new EnumMap<>(AdminChange.Effect.class);
    for (String each : text.isEmpty() ? new String[0] : text.split(",")) {
      int equals = each.indexOf('=');
      skipped.put(
          AdminChange.Effect.valueOf(each.substring(0, equals)),
          Long.parseLong(each.substring(equals + 1)));
    }
    return skipped;
  }
}
