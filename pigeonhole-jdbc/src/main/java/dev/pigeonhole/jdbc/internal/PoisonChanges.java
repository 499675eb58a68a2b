package dev.pigeonhole.jdbc.internal;

import dev.pigeonhole.MessageRef;
import dev.pigeonhole.store.AdminChange;
import dev.pigeonhole.store.AdminChange.Action;
import dev.pigeonhole.store.AdminChange.Effect;
import dev.pigeonhole.store.CrashPoints;
import dev.pigeonhole.store.EditedContent;
import dev.pigeonhole.store.Place;
import dev.pigeonhole.store.Versions;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * What becomes of poisoned deliveries: another life, with the same or with other content, or a
 * receipt. Whoever changes one holds its row, so only the first of several hits. Whoever changes
 * many holds all of them before it looks at their ordering keys, see {@link KeyGates}.
 */
final class PoisonChanges {

  // Index: poison_pk.
  private static final String LOCK =
      """
      SELECT lane, handler, version, key_id, releases, key_hash, failures, crashes
      FROM {poison} WHERE seq = ? AND handler IN (:kin)
      ORDER BY CASE WHEN handler = ? THEN 0 ELSE 1 END
      FOR UPDATE
      """;

  private static final String DELETE = "DELETE FROM {poison} WHERE seq = ? AND handler = ?";

  private static final String REVIVE =
      """
      INSERT INTO {later} (lane, handler, seq, version, key_id, releases, key_hash, due_at, reason)
      VALUES (?, ?, ?, ?, ?, ?, ?, {now}, 'operator')
      """;

  private static final String RECEIPT =
      """
      INSERT INTO {receipt} (seq, handler, key_id, failures, crashes, releases, outcome, completed_at)
      VALUES (?, ?, ?, ?, ?, ?, ?, {now})
      """;

  // Index: message_pk.
  private static final String LOCK_MESSAGE = "SELECT seq FROM {message} WHERE seq = ? FOR UPDATE";

  // Index: message_pk.
  private static final String REF = "SELECT source, id FROM {message} WHERE seq = ?";

  // Index: edit_pk.
  private static final String FORGET_EDIT = "DELETE FROM {edit} WHERE seq = ? AND handler = ?";

  private static final String EDIT =
      """
      INSERT INTO {edit} (seq, handler, content, content_hash, actor, reason, edited_at)
      VALUES (?, ?, ?, ?, ?, ?, {now})
      """;

  private static final String EDITED = "UPDATE {message} SET edited = TRUE WHERE seq = ?";

  private final Jdbc jdbc;
  private final Families families;
  private final Statements statements;
  private final KeyGates gates;
  private final KeyAdmin keys;

  PoisonChanges(
      Jdbc jdbc, Families families, Statements statements, KeyGates gates, KeyAdmin keys) {
    this.jdbc = jdbc;
    this.families = families;
    this.statements = statements;
    this.gates = gates;
    this.keys = keys;
  }

  /** Changes the delivery of this message to the family, or to one that counts as it. */
  boolean change(String source, String id, int family, AdminChange change) {
    return keys.finishing(
        jdbc.transaction(
            session -> {
              Optional<FoundMessage> message = FoundMessage.of(session, statements, source, id);
              if (message.isEmpty()) {
                return false;
              }
              Optional<Poisoned> held =
                  lock(session, message.get().seq(), families.kin(family), family);
              if (held.isPresent()) {
                change(session, List.of(held.get()), change, "");
              }
              return held.isPresent();
            }));
  }

  /** Gives such a delivery other content and another life. */
  boolean edit(
      String source, String id, int family, EditedContent content, String actor, String reason) {
    AdminChange retry = new AdminChange(Action.RETRY, null, actor, reason);
    return keys.finishing(
        jdbc.transaction(
            session -> {
              Optional<FoundMessage> message = FoundMessage.of(session, statements, source, id);
              if (message.isEmpty()) {
                return false;
              }
              long seq = message.get().seq();
              // As retention does: the message first, then what belongs to it.
              session.one(LOCK_MESSAGE, params -> params.add(seq), row -> true);
              Optional<Poisoned> held = lock(session, seq, families.kin(family), family);
              if (held.isPresent()) {
                edit(session, held.get(), content, actor, reason);
                change(session, List.of(held.get()), retry, " with other content");
              }
              return held.isPresent();
            }));
  }

  private static void edit(
      Session session, Poisoned poisoned, EditedContent content, String actor, String reason)
      throws SQLException {
    session.update(FORGET_EDIT, params -> params.add(poisoned.seq()).add(poisoned.handler()));
    session.update(
        EDIT,
        params ->
            params
                .add(poisoned.seq())
                .add(poisoned.handler())
                .add(content.content())
                .add(content.contentHash())
                .add(actor)
                .add(reason));
    session.update(EDITED, params -> params.add(poisoned.seq()));
  }

  /**
   * Changes those of these deliveries that are poisoned, and exactly those: nothing that only
   * counts as the same handler.
   *
   * @param chosen in ascending order, in which they are locked
   */
  List<Effect> change(Session session, List<Place> chosen, AdminChange change) throws SQLException {
    List<Effect> effects = new ArrayList<>();
    List<Poisoned> held = new ArrayList<>();
    for (Place each : chosen) {
      Optional<Poisoned> poisoned =
          lock(session, each.seq(), Set.of(each.handler()), each.handler());
      poisoned.ifPresent(held::add);
      effects.add(poisoned.isPresent() ? Effect.CHANGED : Effect.NOT_POISONED);
    }
    change(session, held, change, "");
    return effects;
  }

  private record Poisoned(
      long seq,
      int lane,
      int handler,
      long version,
      int keyId,
      int releases,
      @Nullable Long keyHash,
      int failures,
      int crashes) {}

  /** One of these families; if there are several, the first one that was asked for. */
  private static Optional<Poisoned> lock(Session session, long seq, Set<Integer> among, int first)
      throws SQLException {
    return session.one(
        session.sql(LOCK).replace(":kin", Lists.numbers(among)),
        params -> params.add(seq).add(first),
        row ->
            new Poisoned(
                seq,
                row.getInt(1),
                row.getInt(2),
                row.getLong(3),
                row.getInt(4),
                row.getInt(5),
                Session.longOrNull(row, 6),
                row.getInt(7),
                row.getInt(8)));
  }

  /** Puts something else in the place of poisoned deliveries that are held. */
  private void change(Session session, List<Poisoned> held, AdminChange change, String how)
      throws SQLException {
    Map<KeyGates.Key, Integer> freed = new HashMap<>();
    for (Poisoned each : held) {
      session.update(DELETE, params -> params.add(each.seq()).add(each.handler()));
      if (change.action() == Action.RETRY) {
        revive(session, each);
      } else {
        receipt(session, each, change.action() == Action.DISCARD);
      }
      Long keyHash = each.keyHash();
      if (keyHash != null) {
        freed.put(new KeyGates.Key(each.handler(), keyHash), each.keyId());
      }
      String subject =
          "%s for %s%s"
              .formatted(ref(session, each.seq()), Audit.handler(session, each.keyId()), how);
      Audit.add(session, change, subject);
    }
    gates.letGo(session, freed);
    CrashPoints.reach("retry.before-commit");
  }

  private static void revive(Session session, Poisoned head) throws SQLException {
    session.update(
        REVIVE,
        params ->
            params
                .add(head.lane())
                .add(head.handler())
                .add(head.seq())
                .add(Versions.next(head.version()))
                .add(head.keyId())
                .add(head.releases())
                .add(head.keyHash()));
  }

  private static void receipt(Session session, Poisoned head, boolean discarded)
      throws SQLException {
    session.update(Receipts.FORGET_RUNNING, params -> params.add(head.seq()).add(head.handler()));
    session.update(
        RECEIPT,
        params ->
            params
                .add(head.seq())
                .add(head.handler())
                .add(head.keyId())
                .add(head.failures())
                .add(head.crashes())
                .add(head.releases())
                .add(discarded ? Receipts.DISCARDED : Receipts.COMPLETED));
  }

  /** The message with this number, as the audit names it. */
  static MessageRef ref(Session session, long seq) throws SQLException {
    return session
        .one(
            REF,
            params -> params.add(seq),
            row -> new MessageRef(row.getString(1), row.getString(2)))
        .orElse(new MessageRef("", "#" + seq));
  }
}
