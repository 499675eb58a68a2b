package dev.pigeonhole.testkit;

import dev.pigeonhole.Failure;
import dev.pigeonhole.MessageRef;
import dev.pigeonhole.admin.AuditEntry;
import dev.pigeonhole.admin.BlockedKey;
import dev.pigeonhole.admin.ConflictView;
import dev.pigeonhole.admin.Content;
import dev.pigeonhole.admin.Count;
import dev.pigeonhole.admin.DeliveryState;
import dev.pigeonhole.admin.DeliveryView;
import dev.pigeonhole.admin.HandlerCounts;
import dev.pigeonhole.admin.HandlerLag;
import dev.pigeonhole.admin.MessageDetail;
import dev.pigeonhole.admin.MessageView;
import dev.pigeonhole.admin.Pause;
import dev.pigeonhole.store.AdminChange;
import dev.pigeonhole.store.AdminChange.Action;
import dev.pigeonhole.store.AdminChange.Effect;
import dev.pigeonhole.store.AdminQueries;
import dev.pigeonhole.store.Cell;
import dev.pigeonhole.store.CellRow;
import dev.pigeonhole.store.Delivery;
import dev.pigeonhole.store.DeliveryFilter;
import dev.pigeonhole.store.EditedContent;
import dev.pigeonhole.store.HandlerId;
import dev.pigeonhole.store.Listed;
import dev.pigeonhole.store.MessageFilter;
import dev.pigeonhole.store.MessageState;
import dev.pigeonhole.store.NewMessage;
import dev.pigeonhole.store.NodeRow;
import dev.pigeonhole.store.Operation;
import dev.pigeonhole.store.Place;
import dev.pigeonhole.store.PoisonSample;
import dev.pigeonhole.store.SecondCopy;
import dev.pigeonhole.store.Slice;
import dev.pigeonhole.store.StoredMessage;
import dev.pigeonhole.store.TypeCount;
import dev.pigeonhole.store.Versions;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** What operators see and change, in memory. */
final class MemoryAdmin implements AdminQueries {
  private static final Comparator<Tables.PoisonRow> NEWEST_FIRST =
      Comparator.comparing(Tables.PoisonRow::at)
          .thenComparing(row -> row.delivery().seq())
          .reversed();

  private final Tables tables;
  private final MemoryLists lists;

  MemoryAdmin(Tables tables) {
    this.tables = tables;
    this.lists = new MemoryLists(tables, this);
  }

  @Override
  public List<HandlerCounts> counts(int most) {
    return tables.commit(
        () -> {
          Collection<OpenRow> open = open();
          return tables.handlers.all().stream().map(handler -> count(handler, open, most)).toList();
        });
  }

  private HandlerCounts count(HandlerId handler, Collection<OpenRow> open, int most) {
    int keyId = handler.keyId();
    Instant now = tables.now();
    return new HandlerCounts(
        handler.key(),
        Count.upTo(most, count(open, keyId, row -> state(row, now) == DeliveryState.PENDING)),
        Count.upTo(most, count(open, keyId, row -> state(row, now) == DeliveryState.SCHEDULED)),
        Count.of(0),
        Count.of(0),
        Count.upTo(most, count(open, keyId, OpenRow::blocked)),
        Count.upTo(
            most,
            tables.receipts.values().stream()
                .filter(row -> row.delivery().keyId() == keyId)
                .count()),
        Count.upTo(
            most,
            tables.poison.values().stream()
                .filter(row -> row.delivery().keyId() == keyId)
                .count()));
  }

  private static long count(Collection<OpenRow> rows, int keyId, Predicate<OpenRow> which) {
    return rows.stream().filter(row -> row.delivery().keyId() == keyId).filter(which).count();
  }

  @Override
  public List<TypeCount> countsByType(int most) {
    return tables.commit(
        () -> {
          Instant now = tables.now();
          Map<TypeCount, Long> found = new HashMap<>();
          for (boolean late : new boolean[] {false, true}) {
            open().stream()
                .filter(row -> row.delivery().late() == late)
                .limit(most)
                .map(row -> one(!late, state(row, now), row.delivery()))
                .forEach(each -> found.merge(each, 1L, Long::sum));
          }
          tables.poison.values().stream()
              .limit(most)
              .map(row -> one(false, DeliveryState.POISONED, row.delivery()))
              .forEach(each -> found.merge(each, 1L, Long::sum));
          return found.entrySet().stream()
              .map(
                  each ->
                      new TypeCount(
                          each.getKey().fresh(),
                          each.getKey().state(),
                          each.getKey().type(),
                          each.getValue()))
              .toList();
        });
  }

  private TypeCount one(boolean fresh, DeliveryState state, Delivery delivery) {
    return new TypeCount(fresh, state, message(delivery).view().type(), 1);
  }

  @Override
  public List<HandlerLag> lag() {
    return tables.commit(
        () -> {
          Instant now = tables.now();
          Map<Integer, HandlerId> newest = new TreeMap<>();
          tables.handlers.all().forEach(each -> newest.put(each.family(), each));
          Map<Integer, Instant> oldest = new HashMap<>();
          for (OpenRow row : open()) {
            if (state(row, now) == DeliveryState.PENDING) {
              Instant due = row.due();
              Instant since = due == null ? message(row.delivery()).receivedAt() : due;
              oldest.merge(row.delivery().cell().handler(), since, (x, y) -> x.isBefore(y) ? x : y);
            }
          }
          return newest.values().stream()
              .map(
                  each -> {
                    Instant since = oldest.get(each.family());
                    return new HandlerLag(
                        each.key(),
                        Optional.ofNullable(since),
                        since == null ? Duration.ZERO : Duration.between(since, now));
                  })
              .toList();
        });
  }

  @Override
  public Optional<DeliveryView> find(String source, String id, int family) {
    return tables.commit(
        () -> {
          MessageRow message = tables.byIdentity.get(new MessageRef(source, id));
          return message == null
              ? Optional.empty()
              : tables.handlers.kin(family).stream()
                  .flatMap(each -> find(message, each).stream())
                  .findFirst();
        });
  }

  /** The delivery of this message to exactly this family. */
  Optional<DeliveryView> find(MessageRow message, int family) {
    OpenRow open = tables.find(message, family);
    if (open != null) {
      DeliveryState state = state(open, tables.now());
      return Optional.of(view(message, open.delivery(), state, open.due(), null));
    }
    Tables.RowKey key = new Tables.RowKey(message.seq(), family);
    Tables.PoisonRow poison = tables.poison.get(key);
    if (poison != null) {
      return Optional.of(view(message, poison));
    }
    return Optional.ofNullable(tables.receipts.get(key))
        .map(
            row ->
                view(
                    message,
                    row.delivery(),
                    row.discarded() ? DeliveryState.DISCARDED : DeliveryState.COMPLETED,
                    null,
                    row.at()));
  }

  @Override
  public List<DeliveryView> poisoned(@Nullable Integer family, int limit) {
    return tables.commit(
        () ->
            tables.poison.values().stream()
                .filter(
                    row ->
                        family == null
                            || tables.handlers.same(row.delivery().cell().handler(), family))
                .sorted(NEWEST_FIRST)
                .limit(limit)
                .map(row -> withoutStack(view(message(row.delivery()), row)))
                .toList());
  }

  /** As lists show it. */
  static DeliveryView withoutStack(DeliveryView view) {
    return new DeliveryView(
        view.message(),
        view.type(),
        view.handler(),
        view.state(),
        view.failures(),
        view.crashes(),
        view.releases(),
        view.receivedAt(),
        view.due(),
        view.ended(),
        view.lastFailure().map(MemoryAdmin::withoutStack));
  }

  private static Failure withoutStack(Failure failure) {
    return new Failure(
        failure.code(), failure.type(), failure.message(), "", failure.fingerprint(), failure.at());
  }

  @Override
  public boolean retry(String source, String id, int family, String actor, String reason) {
    return change(source, id, family, new AdminChange(Action.RETRY, null, actor, reason));
  }

  @Override
  public boolean end(
      String source, String id, int family, boolean discarded, String actor, String reason) {
    Action action = discarded ? Action.DISCARD : Action.COMPLETE;
    return change(source, id, family, new AdminChange(action, null, actor, reason));
  }

  private boolean change(String source, String id, int family, AdminChange change) {
    return tables.commit(
        () -> {
          MessageRow message = tables.byIdentity.get(new MessageRef(source, id));
          return message != null && change(message, family, change, "");
        });
  }

  private boolean change(MessageRow message, int family, AdminChange change, String how) {
    Tables.PoisonRow poison = poison(message, family);
    if (poison == null) {
      return false;
    }
    Delivery was = poison.delivery();
    tables.poison.remove(Tables.RowKey.of(was));
    if (change.action() == Action.RETRY) {
      reopen(was);
    } else {
      boolean discarded = change.action() == Action.DISCARD;
      tables.receipts.put(
          Tables.RowKey.of(was), new Tables.ReceiptRow(was, tables.now(), discarded));
    }
    tables.keys.letGo(was);
    audit(change, "%s for handler '%s'%s".formatted(message.ref(), key(was), how));
    return true;
  }

  private Tables.@Nullable PoisonRow poison(MessageRow message, int family) {
    return tables.handlers.kin(family).stream()
        .map(each -> tables.poison.get(new Tables.RowKey(message.seq(), each)))
        .filter(Objects::nonNull)
        .findFirst()
        .orElse(null);
  }

  private void audit(AdminChange change, String subject) {
    tables.audit(
        change.action().name().toLowerCase(Locale.ROOT), subject, change.actor(), change.reason());
  }

  @Override
  public boolean edit(
      String source, String id, int family, EditedContent content, String actor, String reason) {
    return tables.commit(
        () -> {
          MessageRow message = tables.byIdentity.get(new MessageRef(source, id));
          Tables.PoisonRow poison = message == null ? null : poison(message, family);
          if (message == null || poison == null) {
            return false;
          }
          message.edit(
              poison.delivery().cell().handler(),
              new MessageRow.Edit(content, tables.now(), actor, reason));
          AdminChange retry = new AdminChange(Action.RETRY, null, actor, reason);
          return change(message, family, retry, " with other content");
        });
  }

  @Override
  public Effect replay(String source, String id, HandlerId handler, String actor, String reason) {
    return tables.commit(
        () -> {
          MessageRow message = tables.byIdentity.get(new MessageRef(source, id));
          return message == null
              ? Effect.GONE
              : replay(message, new AdminChange(Action.REPLAY, handler, actor, reason), handler);
        });
  }

  private Effect replay(MessageRow message, AdminChange change, HandlerId handler) {
    if (message.dropped()) {
      return Effect.NO_CONTENT;
    }
    for (int each : tables.handlers.kin(handler.family())) {
      if (tables.find(message, each) != null) {
        return Effect.OPEN;
      }
      if (tables.poison.containsKey(new Tables.RowKey(message.seq(), each))) {
        return Effect.POISONED;
      }
    }
    if (!message.hasNextLife()) {
      return Effect.TOO_OFTEN;
    }
    List<Tables.ReceiptRow> had = new ArrayList<>();
    for (int each : tables.handlers.kin(handler.family())) {
      Tables.ReceiptRow receipt = tables.receipts.remove(new Tables.RowKey(message.seq(), each));
      if (receipt != null) {
        had.add(receipt);
      }
      message.families().remove(each);
    }
    // The idempotency key is made of the handler's key; whoever has seen it must see it again.
    int keyId =
        had.stream()
            .min(Comparator.comparing(Tables.ReceiptRow::at))
            .map(receipt -> receipt.delivery().keyId())
            .orElse(handler.keyId());
    Cell cell = new Cell(message.lane(), handler.family());
    Delivery delivery =
        new Delivery(
            cell, message.seq(), message.nextLife(), keyId, 0, 0, 0, message.keyHash(), 0, true);
    message.families().add(handler.family());
    message.bringEdit(handler.family(), tables.handlers.kin(handler.family()));
    tables.open(cell).put(OpenRow.due(delivery, tables.now()));
    audit(change, "%s for handler '%s'".formatted(message.ref(), handler.key()));
    return Effect.CHANGED;
  }

  @Override
  public Operation begin(Operation operation, String actor, String reason) {
    return tables.commit(
        () ->
            tables
                .operations
                .computeIfAbsent(operation.name(), any -> new Tables.OperationRow(operation, null))
                .operation());
  }

  @Override
  public Optional<Operation> operation(String name) {
    return tables.commit(
        () -> Optional.ofNullable(tables.operations.get(name)).map(Tables.OperationRow::operation));
  }

  @Override
  public Operation step(Operation known, AdminChange change, List<Place> chosen, boolean last) {
    return tables.commit(
        () -> {
          Tables.OperationRow row = tables.operations.get(known.name());
          if (row == null) {
            return known;
          }
          Operation operation = row.operation();
          if (operation.finished() || !operation.at().equals(known.at())) {
            return operation;
          }
          List<Effect> effects = chosen.stream().map(each -> apply(each, change)).toList();
          Place reached = chosen.isEmpty() ? operation.at() : chosen.get(chosen.size() - 1);
          Operation after = operation.after(reached, effects, last);
          tables.operations.put(
              after.name(), new Tables.OperationRow(after, last ? tables.now() : null));
          return after;
        });
  }

  private Effect apply(Place place, AdminChange change) {
    MessageRow message = tables.messages.get(place.seq());
    if (message == null) {
      return change.target() == null && change.action() != Action.PURGE
          ? Effect.NOT_POISONED
          : Effect.GONE;
    }
    HandlerId target = change.target();
    if (change.action() == Action.REPLAY && target != null) {
      return replay(message, change, target);
    }
    if (change.action() == Action.PURGE) {
      Effect effect = tables.pruning.purge(place.seq());
      if (effect == Effect.CHANGED) {
        audit(change, message.ref().toString());
      }
      return effect;
    }
    // Exactly this one was chosen: nothing that only counts as the same handler.
    boolean poisoned = tables.poison.containsKey(new Tables.RowKey(place.seq(), place.handler()));
    return poisoned && change(message, place.handler(), change, "")
        ? Effect.CHANGED
        : Effect.NOT_POISONED;
  }

  /** A new life for the delivery. */
  private void reopen(Delivery was) {
    Instant now = tables.now();
    CellRows rows = tables.open(was.cell());
    Delivery is =
        new Delivery(
            was.cell(),
            was.seq(),
            Versions.next(was.version()),
            was.keyId(),
            0,
            0,
            was.releases(),
            was.keyHash(),
            0,
            true);
    rows.put(OpenRow.due(is, now));
  }

  @Override
  public List<ConflictView> conflicts(int limit) {
    return tables.commit(
        () ->
            tables.conflicts.stream()
                .sorted(Comparator.comparing(Tables.ConflictRow::id).reversed())
                .limit(limit)
                .map(MemoryAdmin::view)
                .toList());
  }

  @Override
  public Optional<SecondCopy> conflict(long conflict) {
    return tables.commit(
        () ->
            tables.conflicts.stream()
                .filter(row -> row.id() == conflict)
                .findFirst()
                .map(MemoryAdmin::copy));
  }

  private static SecondCopy copy(Tables.ConflictRow row) {
    NewMessage copy = MessageRow.copy(row.copy());
    return new SecondCopy(
        view(row), copy.content(), copy.headers(), copy.orderingKey(), copy.occurredAt());
  }

  private static ConflictView view(Tables.ConflictRow row) {
    NewMessage copy = row.copy();
    byte[] content = copy.content();
    return new ConflictView(
        row.id(),
        new MessageRef(copy.source(), copy.id()),
        copy.type(),
        copy.channel(),
        copy.transport(),
        copy.contentType(),
        content == null ? 0 : content.length,
        row.at(),
        Optional.ofNullable(row.acceptedAs()));
  }

  @Override
  public Optional<String> claimConflict(long conflict, String newId, String actor, String reason) {
    return tables.commit(
        () -> {
          claim(conflict, null, newId, "accept", actor, reason);
          return conflict(conflict).flatMap(copy -> copy.view().acceptedAs());
        });
  }

  @Override
  public void unclaimConflict(long conflict, String newId, String actor, String reason) {
    tables.commit(() -> claim(conflict, newId, null, "unaccept", actor, reason));
  }

  private void claim(
      long conflict,
      @Nullable String from,
      @Nullable String to,
      String action,
      String actor,
      String reason) {
    tables.conflicts.replaceAll(
        row -> {
          if (row.id() != conflict || !Objects.equals(row.acceptedAs(), from)) {
            return row;
          }
          tables.audit(action, subject(view(row)), actor, reason);
          return row.acceptedAs(to);
        });
  }

  @Override
  public void finishConflict(long conflict, String newId) {
    tables.commit(
        () -> {
          tables.conflicts.removeIf(row -> row.id() == conflict && newId.equals(row.acceptedAs()));
        });
  }

  @Override
  public boolean dismissConflict(long conflict, String actor, String reason) {
    return tables.commit(
        () -> {
          Optional<SecondCopy> copy = conflict(conflict);
          if (copy.isEmpty() || copy.get().view().acceptedAs().isPresent()) {
            return false;
          }
          tables.conflicts.removeIf(row -> row.id() == conflict);
          tables.audit("dismiss", subject(copy.get().view()), actor, reason);
          return true;
        });
  }

  private static String subject(ConflictView copy) {
    return "conflict %d of %s".formatted(copy.conflict(), copy.message());
  }

  @Override
  public boolean pause(int family, int keyId, String actor, String reason) {
    return tables.commit(
        () -> {
          List<Integer> kin = tables.handlers.kin(family);
          if (kin.stream().anyMatch(tables.pauses::containsKey)) {
            return false;
          }
          Pause pause = new Pause(key(keyId), tables.now(), actor, reason);
          kin.forEach(each -> tables.pauses.put(each, pause));
          tables.audit("pause", null, key(keyId), actor, reason);
          return true;
        });
  }

  @Override
  public boolean resume(int family, int keyId, String actor, String reason) {
    return tables.commit(
        () -> {
          boolean resumed = tables.pauses.keySet().removeAll(tables.handlers.kin(family));
          if (resumed) {
            tables.audit("resume", null, key(keyId), actor, reason);
          }
          return resumed;
        });
  }

  @Override
  public Set<Integer> pausedFamilies() {
    return tables.commit(() -> Set.copyOf(tables.pauses.keySet()));
  }

  @Override
  public List<Pause> paused() {
    return tables.commit(
        () ->
            tables.pauses.values().stream()
                .distinct()
                .sorted(Comparator.comparing(Pause::since).thenComparing(Pause::handler))
                .toList());
  }

  @Override
  public long open(int keyId) {
    return tables.commit(() -> count(open(), keyId, row -> true));
  }

  @Override
  public long open(HandlerId handler, int most) {
    return Math.min(most, open(handler.keyId()));
  }

  @Override
  public List<AuditEntry> audit(int limit) {
    return tables.commit(
        () -> {
          List<AuditEntry> entries = new ArrayList<>();
          for (int i = tables.audit.size(); i > 0 && entries.size() < limit; i--) {
            Tables.AuditRow row = tables.audit.get(i - 1);
            entries.add(
                new AuditEntry(
                    i, row.at(), row.actor(), row.action(), row.reason(), row.subject()));
          }
          return entries;
        });
  }

  @Override
  public List<CellRow> cells() {
    return tables.commit(() -> List.copyOf(tables.ownership.cells.values()));
  }

  @Override
  public Set<Integer> kin(int family) {
    return tables.commit(() -> Set.copyOf(tables.handlers.kin(family)));
  }

  @Override
  public List<Listed<DeliveryView>> deliveries(DeliveryFilter filter, Slice slice) {
    return tables.commit(() -> lists.deliveries(filter, slice));
  }

  @Override
  public List<Listed<MessageRef>> named(DeliveryFilter filter, Slice slice) {
    return deliveries(filter, slice).stream()
        .map(each -> new Listed<>(each.place(), each.view().message()))
        .toList();
  }

  @Override
  public long count(DeliveryFilter filter, int most) {
    return tables.commit(() -> lists.count(filter, most));
  }

  @Override
  public List<PoisonSample> failures(DeliveryFilter filter, int most) {
    return tables.commit(() -> lists.failures(filter, most));
  }

  @Override
  public List<Listed<MessageView>> messages(MessageFilter filter, Slice slice) {
    return tables.commit(() -> lists.messages(filter, slice));
  }

  @Override
  public long count(MessageFilter filter, int most) {
    return tables.commit(() -> lists.count(filter, most));
  }

  @Override
  public Optional<MessageState> message(String source, String id) {
    return tables.commit(
        () ->
            Optional.ofNullable(tables.byIdentity.get(new MessageRef(source, id)))
                .map(this::message));
  }

  private MessageState message(MessageRow row) {
    StoredMessage stored = row.stored();
    List<MessageDetail.Delivery> deliveries =
        row.families().stream()
            .sorted()
            .flatMap(family -> find(row, family).stream().map(view -> delivery(row, family, view)))
            .toList();
    return new MessageState(
        row.view(),
        stored,
        row.lane(),
        deliveries,
        tables.conflicts.stream()
            .filter(copy -> copy.seq() == row.seq())
            .sorted(Comparator.comparing(Tables.ConflictRow::id).reversed())
            .map(MemoryAdmin::view)
            .toList());
  }

  private MessageDetail.Delivery delivery(MessageRow row, int family, DeliveryView view) {
    return new MessageDetail.Delivery(
        view,
        tables.failures(new Tables.RowKey(row.seq(), family)),
        Optional.ofNullable(row.edit(family))
            .map(
                edit ->
                    new MessageDetail.Edit(
                        new Content(edit.content().content(), row.stored().contentType()),
                        edit.at(),
                        edit.by(),
                        edit.reason())));
  }

  @Override
  public List<NodeRow> nodes() {
    return tables.commit(() -> List.copyOf(tables.ownership.nodes.values()));
  }

  @Override
  public long messages() {
    return tables.commit(() -> (long) tables.messages.size());
  }

  @Override
  public List<BlockedKey> blockedKeys(int limit) {
    return tables.commit(() -> tables.keys.blocked(limit));
  }

  @Override
  public boolean releaseKey(
      int family, int keyId, String orderingKey, long keyHash, String actor, String reason) {
    return tables.commit(
        () -> {
          boolean released = false;
          for (int each : tables.handlers.kin(family)) {
            released |= tables.keys.release(each, keyHash);
          }
          if (released) {
            String subject = "key '%s' of handler '%s'".formatted(orderingKey, key(keyId));
            tables.audit("release", subject, actor, reason);
          }
          return released;
        });
  }

  private Collection<OpenRow> open() {
    List<OpenRow> rows = new ArrayList<>();
    tables.allOpen().forEach(cell -> rows.addAll(cell.all()));
    return rows;
  }

  private static DeliveryState state(OpenRow row, Instant now) {
    if (row.blocked()) {
      return DeliveryState.BLOCKED;
    }
    // A row with a place is read by that, whatever the clock says.
    boolean ready = row.delivery().place() > 0 || row.due() == null || row.isDue(now);
    return ready ? DeliveryState.PENDING : DeliveryState.SCHEDULED;
  }

  private DeliveryView view(MessageRow message, Tables.PoisonRow poison) {
    return view(message, poison.delivery(), DeliveryState.POISONED, null, poison.at());
  }

  private DeliveryView view(
      MessageRow message,
      Delivery delivery,
      DeliveryState state,
      @Nullable Instant due,
      @Nullable Instant ended) {
    return new DeliveryView(
        message.ref(),
        message.view().type(),
        key(delivery),
        state,
        delivery.failures(),
        delivery.crashes(),
        delivery.releases(),
        message.receivedAt(),
        state == DeliveryState.SCHEDULED ? Optional.ofNullable(due) : Optional.empty(),
        Optional.ofNullable(ended),
        tables.lastFailure(Tables.RowKey.of(delivery)));
  }

  private String key(Delivery delivery) {
    return key(delivery.keyId());
  }

  private String key(int keyId) {
    return tables.handlers.keyOf(keyId);
  }

  private MessageRow message(Delivery delivery) {
    MessageRow row = tables.messages.get(delivery.seq());
    if (row == null) {
      throw new IllegalStateException("No message for " + delivery);
    }
    return row;
  }
}
