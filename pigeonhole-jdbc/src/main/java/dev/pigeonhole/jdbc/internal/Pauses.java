package dev.pigeonhole.jdbc.internal;

import dev.pigeonhole.admin.Pause;
import java.util.List;
import java.util.Set;

/** Handlers that somebody has paused: one row for each family that counts as the handler. */
final class Pauses {

  // Index: handler_pk. A family bears the number of its first key.
  private static final String LOCK_HANDLERS =
      "SELECT key_id FROM {handler} WHERE key_id IN (:kin) ORDER BY key_id FOR UPDATE";

  // Index: pause_pk.
  private static final String IS_PAUSED = "SELECT handler FROM {pause} WHERE handler IN (:kin)";

  private static final String PAUSE =
      "INSERT INTO {pause} (handler, since, key_id, actor, reason) VALUES (?, {now}, ?, ?, ?)";

  private static final String RESUME = "DELETE FROM {pause} WHERE handler IN (:kin)";

  // The rows of one handler were written together, and look alike but for the family.
  private static final String ALL =
      """
      SELECT h.handler_key, p.since, p.actor, p.reason
      FROM {pause} p JOIN {handler} h ON h.key_id = p.key_id
      ORDER BY p.since, h.handler_key
      """;

  private static final String FAMILIES = "SELECT handler FROM {pause}";

  private final Jdbc jdbc;
  private final Families families;

  Pauses(Jdbc jdbc, Families families) {
    this.jdbc = jdbc;
    this.families = families;
  }

  boolean pause(int family, int keyId, String actor, String reason) {
    return jdbc.transaction(
        session -> {
          // Two that pause it at once wait for each other here.
          session.query(
              families.ofKin(session, LOCK_HANDLERS, family), none -> {}, row -> row.getInt(1));
          if (session
              .one(families.ofKin(session, IS_PAUSED, family), none -> {}, row -> 1)
              .isPresent()) {
            return false;
          }
          for (int each : families.kin(family)) {
            session.update(PAUSE, params -> params.add(each).add(keyId).add(actor).add(reason));
          }
          Audit.add(session, "pause", actor, reason, Audit.handler(session, keyId));
          return true;
        });
  }

  boolean resume(int family, int keyId, String actor, String reason) {
    return jdbc.transaction(
        session -> {
          boolean resumed =
              session.update(families.ofKin(session, RESUME, family), params -> {}) > 0;
          if (resumed) {
            Audit.add(session, "resume", actor, reason, Audit.handler(session, keyId));
          }
          return resumed;
        });
  }

  List<Pause> all() {
    return jdbc.read(
        session ->
            session
                .query(
                    ALL,
                    params -> {},
                    row ->
                        new Pause(
                            row.getString(1),
                            session.time(row, 2),
                            row.getString(3),
                            row.getString(4)))
                .stream()
                .distinct()
                .toList());
  }

  Set<Integer> families() {
    return Set.copyOf(
        jdbc.read(session -> session.query(FAMILIES, params -> {}, row -> row.getInt(1))));
  }
}
