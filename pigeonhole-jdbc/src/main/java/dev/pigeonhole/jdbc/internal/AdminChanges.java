package dev.pigeonhole.jdbc.internal;

import dev.pigeonhole.MessageRef;
import dev.pigeonhole.store.AdminChange;
import dev.pigeonhole.store.AdminChange.Action;
import dev.pigeonhole.store.AdminChange.Effect;
import dev.pigeonhole.store.HandlerId;
import dev.pigeonhole.store.Operation;
import dev.pigeonhole.store.Place;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Changes to what was chosen, one or many, each with its row in the audit. */
final class AdminChanges {

  private final Jdbc jdbc;
  private final Statements statements;
  private final JdbcPruning pruning;
  private final KeyAdmin keys;
  private final PoisonChanges poison;
  private final Operations operations;
  private final Replays replays;

  AdminChanges(
      Jdbc jdbc,
      Families families,
      Statements statements,
      JdbcPruning pruning,
      KeyAdmin keys,
      PoisonChanges poison,
      Operations operations) {
    this.jdbc = jdbc;
    this.statements = statements;
    this.pruning = pruning;
    this.keys = keys;
    this.poison = poison;
    this.operations = operations;
    this.replays = new Replays(statements, families);
  }

  Effect replay(String source, String id, AdminChange change) {
    return jdbc.transaction(
        session -> {
          Optional<FoundMessage> message = FoundMessage.of(session, statements, source, id);
          return message.isPresent()
              ? ofMessage(session, message.get().seq(), change, true)
              : Effect.GONE;
        });
  }

  Operation step(Operation operation, AdminChange change, List<Place> chosen, boolean last) {
    boolean messages = change.action() == Action.REPLAY || change.action() == Action.PURGE;
    Operation after =
        operations.step(
            operation,
            chosen,
            last,
            (session, places) ->
                messages
                    ? ofMessages(session, places, change)
                    : poison.change(session, places, change));
    keys.finishing(after.changed() > operation.changed());
    return after;
  }

  /**
   * Others lock messages in another order. A replay that holds none yet may wait for them; behind
   * that the step ends, and the next one begins with what is in use. A purge leaves out what is in
   * use at the head of a step.
   */
  private List<Effect> ofMessages(Session session, List<Place> chosen, AdminChange change)
      throws SQLException {
    List<Effect> effects = new ArrayList<>();
    for (Place each : chosen) {
      boolean first = effects.isEmpty();
      Effect effect = ofMessage(session, each.seq(), change, first);
      if (effect == Effect.IN_USE && !first) {
        break;
      }
      effects.add(effect);
    }
    return effects;
  }

  /**
   * Replays or purges one message.
   *
   * @param waiting for whoever holds it, or else leave it out
   */
  private Effect ofMessage(Session session, long seq, AdminChange change, boolean waiting)
      throws SQLException {
    HandlerId target = change.target();
    return target == null
        ? purge(session, seq, change)
        : replay(session, seq, change, target, waiting);
  }

  private Effect replay(
      Session session, long seq, AdminChange change, HandlerId target, boolean waiting)
      throws SQLException {
    Replays.Replayed replayed = replays.replay(session, seq, target, waiting);
    if (replayed.effect() == Effect.CHANGED) {
      String subject =
          "%s for %s".formatted(replayed.message(), Audit.handler(session, target.keyId()));
      Audit.add(session, change, subject);
    }
    return replayed.effect();
  }

  private Effect purge(Session session, long seq, AdminChange change) throws SQLException {
    MessageRef ref = PoisonChanges.ref(session, seq);
    Effect effect = pruning.purge(session, seq);
    if (effect == Effect.CHANGED) {
      Audit.add(session, change, String.valueOf(ref));
    }
    return effect;
  }
}
