package dev.pigeonhole.jdbc.internal;

import dev.pigeonhole.MessageRef;
import dev.pigeonhole.admin.AuditEntry;
import dev.pigeonhole.admin.BlockedKey;
import dev.pigeonhole.admin.ConflictView;
import dev.pigeonhole.admin.DeliveryView;
import dev.pigeonhole.admin.HandlerCounts;
import dev.pigeonhole.admin.HandlerLag;
import dev.pigeonhole.admin.MessageView;
import dev.pigeonhole.admin.Pause;
import dev.pigeonhole.store.AdminChange;
import dev.pigeonhole.store.AdminChange.Action;
import dev.pigeonhole.store.AdminChange.Effect;
import dev.pigeonhole.store.AdminQueries;
import dev.pigeonhole.store.CellRow;
import dev.pigeonhole.store.DeliveryFilter;
import dev.pigeonhole.store.EditedContent;
import dev.pigeonhole.store.HandlerId;
import dev.pigeonhole.store.Listed;
import dev.pigeonhole.store.MessageFilter;
import dev.pigeonhole.store.MessageState;
import dev.pigeonhole.store.NodeRow;
import dev.pigeonhole.store.Operation;
import dev.pigeonhole.store.Place;
import dev.pigeonhole.store.PoisonSample;
import dev.pigeonhole.store.SecondCopy;
import dev.pigeonhole.store.Slice;
import dev.pigeonhole.store.TypeCount;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** What operators see and change: the one door to the classes that do it. */
final class JdbcAdmin implements AdminQueries {

  private final Jdbc jdbc;
  private final Families families;
  private final KeyAdmin keys;
  private final AdminCounts counts;
  private final AdminLag lag;
  private final AdminLists lists;
  private final MessageLists messages;
  private final AdminDetail detail;
  private final PoisonChanges poison;
  private final Operations operations;
  private final AdminChanges changes;
  private final Conflicts conflicts;
  private final Pauses pauses;
  private final BoundedCounts bounded;

  JdbcAdmin(
      Jdbc jdbc,
      Families families,
      Statements statements,
      JdbcPruning pruning,
      KeyGates gates,
      KeyAdmin keys) {
    this.jdbc = jdbc;
    this.families = families;
    this.keys = keys;
    this.counts = new AdminCounts(jdbc, statements);
    this.lag = new AdminLag(jdbc, statements);
    this.lists = new AdminLists(jdbc, families, statements);
    this.messages = new MessageLists(jdbc);
    this.detail = new AdminDetail(jdbc, families, statements, lists);
    this.poison = new PoisonChanges(jdbc, families, statements, gates, keys);
    this.operations = new Operations(jdbc);
    this.changes = new AdminChanges(jdbc, families, statements, pruning, keys, poison, operations);
    this.conflicts = new Conflicts(jdbc);
    this.pauses = new Pauses(jdbc, families);
    this.bounded = new BoundedCounts(jdbc, statements, families);
  }

  // ---- seeing

  @Override
  public List<HandlerCounts> counts(int most) {
    return counts.counts(most);
  }

  @Override
  public long open(int keyId) {
    return counts.open(keyId);
  }

  @Override
  public long open(HandlerId handler, int most) {
    return bounded.open(handler, most);
  }

  @Override
  public List<TypeCount> countsByType(int most) {
    return bounded.byType(most);
  }

  @Override
  public long messages() {
    return counts.messages();
  }

  @Override
  public List<HandlerLag> lag() {
    return lag.lag();
  }

  @Override
  public Set<Integer> kin(int family) {
    return Set.copyOf(families.kin(family));
  }

  @Override
  public List<Listed<DeliveryView>> deliveries(DeliveryFilter filter, Slice slice) {
    return lists.deliveries(filter, slice);
  }

  @Override
  public List<Listed<MessageRef>> named(DeliveryFilter filter, Slice slice) {
    return lists.named(filter, slice);
  }

  @Override
  public long count(DeliveryFilter filter, int most) {
    return lists.count(filter, most);
  }

  @Override
  public List<PoisonSample> failures(DeliveryFilter filter, int most) {
    return lists.failures(filter, most);
  }

  @Override
  public List<DeliveryView> poisoned(@Nullable Integer family, int limit) {
    return lists.poisoned(family, limit);
  }

  @Override
  public List<Listed<MessageView>> messages(MessageFilter filter, Slice slice) {
    return messages.messages(filter, slice);
  }

  @Override
  public long count(MessageFilter filter, int most) {
    return messages.count(filter, most);
  }

  @Override
  public Optional<MessageState> message(String source, String id) {
    return detail.message(source, id);
  }

  @Override
  public Optional<DeliveryView> find(String source, String id, int family) {
    return detail.find(source, id, family);
  }

  @Override
  public List<AuditEntry> audit(int limit) {
    return jdbc.read(session -> Audit.newest(session, limit));
  }

  @Override
  public List<CellRow> cells() {
    return jdbc.read(Cells::read);
  }

  @Override
  public List<NodeRow> nodes() {
    return jdbc.read(JdbcNodes::read);
  }

  // ---- changing

  @Override
  public boolean retry(String source, String id, int family, String actor, String reason) {
    return poison.change(source, id, family, new AdminChange(Action.RETRY, null, actor, reason));
  }

  @Override
  public boolean end(
      String source, String id, int family, boolean discarded, String actor, String reason) {
    Action action = discarded ? Action.DISCARD : Action.COMPLETE;
    return poison.change(source, id, family, new AdminChange(action, null, actor, reason));
  }

  @Override
  public boolean edit(
      String source, String id, int family, EditedContent content, String actor, String reason) {
    return poison.edit(source, id, family, content, actor, reason);
  }

  @Override
  public Effect replay(String source, String id, HandlerId handler, String actor, String reason) {
    return changes.replay(source, id, new AdminChange(Action.REPLAY, handler, actor, reason));
  }

  @Override
  public Operation begin(Operation operation, String actor, String reason) {
    return operations.begin(operation, actor, reason);
  }

  @Override
  public Optional<Operation> operation(String name) {
    return operations.find(name);
  }

  @Override
  public Operation step(Operation operation, AdminChange change, List<Place> chosen, boolean last) {
    return changes.step(operation, change, chosen, last);
  }

  // ---- conflicts, pauses and keys

  @Override
  public List<ConflictView> conflicts(int limit) {
    return conflicts.newest(limit);
  }

  @Override
  public Optional<SecondCopy> conflict(long conflict) {
    return conflicts.find(conflict);
  }

  @Override
  public boolean dismissConflict(long conflict, String actor, String reason) {
    return conflicts.dismiss(conflict, actor, reason);
  }

  @Override
  public Optional<String> claimConflict(long conflict, String newId, String actor, String reason) {
    return conflicts.claim(conflict, newId, actor, reason);
  }

  @Override
  public void unclaimConflict(long conflict, String newId, String actor, String reason) {
    conflicts.unclaim(conflict, newId, actor, reason);
  }

  @Override
  public void finishConflict(long conflict, String newId) {
    conflicts.finish(conflict, newId);
  }

  @Override
  public boolean pause(int family, int keyId, String actor, String reason) {
    return pauses.pause(family, keyId, actor, reason);
  }

  @Override
  public boolean resume(int family, int keyId, String actor, String reason) {
    return pauses.resume(family, keyId, actor, reason);
  }

  @Override
  public Set<Integer> pausedFamilies() {
    return pauses.families();
  }

  @Override
  public List<Pause> paused() {
    return pauses.all();
  }

  @Override
  public List<BlockedKey> blockedKeys(int limit) {
    return keys.blocked(limit);
  }

  @Override
  public boolean releaseKey(
      int family, int keyId, String orderingKey, long keyHash, String actor, String reason) {
    return keys.release(family, keyId, orderingKey, keyHash, actor, reason);
  }
}
