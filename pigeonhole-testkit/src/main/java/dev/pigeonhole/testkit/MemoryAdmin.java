package dev.pigeonhole.testkit;

import dev.pigeonhole.MessageRef;
import dev.pigeonhole.admin.ConflictView;
import dev.pigeonhole.admin.DeliveryState;
import dev.pigeonhole.admin.DeliveryView;
import dev.pigeonhole.admin.HandlerCounts;
import dev.pigeonhole.admin.Pause;
import dev.pigeonhole.store.AdminQueries;
import dev.pigeonhole.store.Delivery;
import dev.pigeonhole.store.HandlerId;
import dev.pigeonhole.store.NewMessage;
import dev.pigeonhole.store.NodeRow;
import dev.pigeonhole.store.SecondCopy;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** What operators see and change, in memory. */
final class MemoryAdmin implements AdminQueries {
  private static final Comparator<Tables.PoisonRow> NEWEST_FIRST =
      Comparator.comparing(Tables.PoisonRow::at)
          .thenComparing(row -> row.delivery().seq())
          .reversed();

  private final Tables tables;

  MemoryAdmin(Tables tables) {
    this.tables = tables;
  }

  @Override
  public List<HandlerCounts> counts() {
    return tables.commit(
        () -> {
          Collection<OpenRow> open = open();
          return tables.handlers.all().stream().map(handler -> count(handler, open)).toList();
        });
  }

  private HandlerCounts count(HandlerId handler, Collection<OpenRow> open) {
    int keyId = handler.keyId();
    Instant now = tables.now();
    return new HandlerCounts(
        handler.key(),
        count(open, keyId, row -> state(row, now) == DeliveryState.PENDING),
        count(open, keyId, row -> state(row, now) == DeliveryState.SCHEDULED),
        0,
        count(open, keyId, OpenRow::blocked),
        tables.receipts.values().stream().filter(row -> row.delivery().keyId() == keyId).count(),
        tables.poison.values().stream().filter(row -> row.delivery().keyId() == keyId).count());
  }

  private static long count(Collection<OpenRow> rows, int keyId, Predicate<OpenRow> which) {
    return rows.stream().filter(row -> row.delivery().keyId() == keyId).filter(which).count();
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

  private Optional<DeliveryView> find(MessageRow message, int family) {
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
                .map(row -> view(message(row), row))
                .toList());
  }

  @Override
  public boolean retry(String source, String id, int family, String actor, String reason) {
    return change(source, id, family, "retry", actor, reason, this::reopen);
  }

  @Override
  public boolean end(
      String source, String id, int family, boolean discarded, String actor, String reason) {
    return change(
        source,
        id,
        family,
        discarded ? "discard" : "complete",
        actor,
        reason,
        was ->
            tables.receipts.put(
                Tables.RowKey.of(was), new Tables.ReceiptRow(was, tables.now(), discarded)));
  }

  private boolean change(
      String source,
      String id,
      int family,
      String action,
      String actor,
      String reason,
      Consumer<Delivery> successor) {
    return tables.commit(
        () -> {
          MessageRow message = tables.byIdentity.get(new MessageRef(source, id));
          if (message == null) {
            return false;
          }
          for (int each : tables.handlers.kin(family)) {
            Tables.PoisonRow poison = tables.poison.remove(new Tables.RowKey(message.seq(), each));
            if (poison != null) {
              successor.accept(poison.delivery());
              release(poison.delivery());
              tables.audit.add(
                  new Tables.AuditRow(
                      action, message.ref(), key(poison.delivery()), actor, reason));
              return true;
            }
          }
          return false;
        });
  }

  /** A new life for the delivery. */
  private void reopen(Delivery was) {
    Instant now = tables.now();
    CellRows rows = tables.open(was.cell());
    Delivery is =
        new Delivery(
            was.cell(),
            was.seq(),
            was.version() + 1,
            was.keyId(),
            0,
            0,
            was.releases(),
            was.keyHash(),
            0,
            true);
    rows.put(OpenRow.due(is, now));
  }

  /** And for what is blocked behind it. */
  private void release(Delivery was) {
    Instant now = tables.now();
    CellRows rows = tables.open(was.cell());
    Long keyHash = was.keyHash();
    if (keyHash != null) {
      rows.behind(keyHash, was.seq()).stream()
          .filter(OpenRow::blocked)
          .forEach(row -> rows.replace(row, OpenRow.due(row.delivery(), now)));
    }
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
        row.at());
  }

  @Override
  public boolean endConflict(long conflict, String action, String actor, String reason) {
    return tables.commit(
        () -> {
          Optional<SecondCopy> copy = conflict(conflict);
          if (copy.isEmpty()) {
            return false;
          }
          tables.conflicts.removeIf(row -> row.id() == conflict);
          tables.audit.add(
              new Tables.AuditRow(action, copy.get().view().message(), "", actor, reason));
          return true;
        });
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
          tables.audit.add(new Tables.AuditRow("pause", null, key(keyId), actor, reason));
          return true;
        });
  }

  @Override
  public boolean resume(int family, int keyId, String actor, String reason) {
    return tables.commit(
        () -> {
          boolean resumed = tables.pauses.keySet().removeAll(tables.handlers.kin(family));
          if (resumed) {
            tables.audit.add(new Tables.AuditRow("resume", null, key(keyId), actor, reason));
          }
          return resumed;
        });
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
  public List<NodeRow> nodes() {
    return tables.commit(() -> List.copyOf(tables.ownership.nodes.values()));
  }

  @Override
  public long messages() {
    return tables.commit(() -> (long) tables.messages.size());
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
    return row.due() == null || row.isDue(now) ? DeliveryState.PENDING : DeliveryState.SCHEDULED;
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

  private MessageRow message(Tables.PoisonRow poison) {
    MessageRow row = tables.messages.get(poison.delivery().seq());
    if (row == null) {
      throw new IllegalStateException("No message for " + poison);
    }
    return row;
  }
}
