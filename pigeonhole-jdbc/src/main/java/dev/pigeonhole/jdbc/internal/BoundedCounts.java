package dev.pigeonhole.jdbc.internal;

import dev.pigeonhole.admin.DeliveryState;
import dev.pigeonhole.store.HandlerId;
import dev.pigeonhole.store.TypeCount;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;

/** Counts that stop at a bound, so that what they cost does not grow with what waits. */
final class BoundedCounts {

  // Index: message_pk, once for each row that is looked at.
  private static final String BY_TYPE =
      """
      SELECT s.state, m.type, count(*)
      FROM (%s LIMIT ?) s
      JOIN {message} m ON m.seq = s.seq
      GROUP BY s.state, m.type
      """;

  private static final String FRESH = "SELECT seq, 'PENDING' AS state FROM {delivery}";

  private static final String LATER =
      """
      SELECT seq, CASE WHEN place > 0 OR due_at <= {now} THEN 'PENDING'
                       WHEN due_at IS NULL THEN 'BLOCKED'
                       ELSE 'SCHEDULED' END AS state
      FROM {later}""";

  private static final String POISONED = "SELECT seq, 'POISONED' AS state FROM {poison}";

  /** Where deliveries without a receipt stand. */
  static final List<String> PLACES = List.of(FRESH, LATER, POISONED);

  // Indexes: delivery_pk, later_due. Those of other keys are passed over. What is replayed to
  // another key of its handler keeps its key and stands in the family of the other.
  private static final String OPEN =
      """
      SELECT count(*)
      FROM (SELECT 1 FROM {delivery} WHERE handler IN (:kin) AND lane IN (:lanes) AND key_id = ? LIMIT :most) d
      UNION ALL
      SELECT count(*)
      FROM (SELECT 1 FROM {later} WHERE handler IN (:kin) AND lane IN (:lanes) AND key_id = ? LIMIT :most) l
      """;

  private final Jdbc jdbc;
  private final Statements statements;
  private final Families families;

  BoundedCounts(Jdbc jdbc, Statements statements, Families families) {
    this.jdbc = jdbc;
    this.statements = statements;
    this.families = families;
  }

  List<TypeCount> byType(int most) {
    return jdbc.read(
        session -> {
          List<TypeCount> found = new ArrayList<>();
          for (String rows : PLACES) {
            found.addAll(byType(session, rows, most));
          }
          return found;
        });
  }

  List<TypeCount> byType(Session session, String rows, int most) throws SQLException {
    return statements.guarded(
        session,
        typesOf(rows),
        params -> params.add(most),
        row ->
            new TypeCount(
                rows.equals(FRESH),
                DeliveryState.valueOf(row.getString(1).strip()),
                row.getString(2),
                row.getLong(3)));
  }

  static String typesOf(String rows) {
    return BY_TYPE.formatted(rows);
  }

  long open(HandlerId handler, int most) {
    return jdbc.read(
        session -> {
          String text =
              session
                  .sql(OPEN)
                  .replace(":kin", Lists.numbers(families.kin(handler.family())))
                  .replace(":lanes", AdminCounts.lanes(session))
                  .replace(":most", String.valueOf(most));
          List<Long> counts =
              statements.guarded(
                  session,
                  text,
                  params -> params.add(handler.keyId()).add(handler.keyId()),
                  row -> row.getLong(1));
          return Math.min(most, counts.stream().mapToLong(Long::longValue).sum());
        });
  }
}
