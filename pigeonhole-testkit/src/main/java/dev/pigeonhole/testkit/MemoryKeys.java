package dev.pigeonhole.testkit;

import dev.pigeonhole.MessageRef;
import dev.pigeonhole.OnPoison;
import dev.pigeonhole.admin.BlockedKey;
import dev.pigeonhole.store.Delivery;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * What keeps the rows of an ordering key waiting: poisoned ones that block, and keys that are
 * closed from a number on. Only touched inside a commit of the tables.
 */
final class MemoryKeys {

  /** An ordering key of one handler family. */
  private record Key(int handler, long hash) {
    static @Nullable Key of(Delivery row) {
      Long hash = row.keyHash();
      return hash == null ? null : new Key(row.cell().handler(), hash);
    }
  }

  private record Closed(long seq, Instant since, Delivery head, String orderingKey) {}

  private final Tables tables;
  private final Map<Key, Closed> closed = new HashMap<>();

  MemoryKeys(Tables tables) {
    this.tables = tables;
  }

  void clear() {
    closed.clear();
  }

  /** Does to the row's key what its channel wants. */
  void poisoned(Delivery row, OnPoison onPoison) {
    Key key = Key.of(row);
    if (key != null && onPoison == OnPoison.HOLD_SEQUENCE) {
      Closed now = new Closed(row.seq(), tables.now(), row, orderingKey(row));
      closed.merge(key, now, (is, again) -> again.seq() < is.seq() ? again : is);
    }
  }

  /** Whether something is in the way of the row. */
  boolean inTheWay(int handler, @Nullable Long keyHash, long seq) {
    if (keyHash == null) {
      return false;
    }
    Closed from = closed.get(new Key(handler, keyHash));
    return (from != null && from.seq() < seq)
        || tables.poison.values().stream()
            .filter(Tables.PoisonRow::blocks)
            .map(Tables.PoisonRow::delivery)
            .anyMatch(
                head ->
                    head.cell().handler() == handler
                        && Objects.equals(head.keyHash(), keyHash)
                        && head.seq() < seq);
  }

  /** Lets go what waits in the key of a row that was taken away, and has nothing in its way. */
  void letGo(Delivery gone) {
    Key key = Key.of(gone);
    if (key != null) {
      letGo(key);
    }
  }

  private boolean letGo(Key key) {
    boolean any = false;
    for (OpenRow row : waiting(key)) {
      Delivery delivery = row.delivery();
      if (!inTheWay(key.handler(), key.hash(), delivery.seq())) {
        tables.open(delivery.cell()).replace(row, OpenRow.due(delivery, tables.now()));
        any = true;
      }
    }
    return any;
  }

  private List<OpenRow> waiting(Key key) {
    List<OpenRow> waiting = new ArrayList<>();
    tables
        .allOpen()
        .forEach(
            cell ->
                cell.behind(key.hash(), Long.MIN_VALUE).stream()
                    .filter(row -> row.blocked())
                    .filter(row -> row.delivery().cell().handler() == key.handler())
                    .forEach(waiting::add));
    return waiting;
  }

  /** Opens the key; false if nothing was waiting and nothing in the way. */
  boolean release(int handler, long keyHash) {
    Key key = new Key(handler, keyHash);
    boolean any = closed.remove(key) != null;
    for (Map.Entry<Tables.RowKey, Tables.PoisonRow> each : tables.poison.entrySet()) {
      if (each.getValue().blocks() && key.equals(Key.of(each.getValue().delivery()))) {
        each.setValue(
            new Tables.PoisonRow(each.getValue().delivery(), each.getValue().at(), false));
        any = true;
      }
    }
    return letGo(key) || any;
  }

  List<BlockedKey> blocked(int limit) {
    Map<Key, BlockedKey> found = new LinkedHashMap<>();
    tables.poison.values().stream()
        .filter(Tables.PoisonRow::blocks)
        .sorted(Comparator.comparing(row -> row.delivery().seq()))
        .forEach(
            row -> {
              Key key = Key.of(row.delivery());
              if (key != null) {
                found.putIfAbsent(
                    key, view(key, row.delivery(), orderingKey(row.delivery()), false, row.at()));
              }
            });
    closed.forEach(
        (key, is) ->
            found.merge(
                key,
                view(key, is.head(), is.orderingKey(), true, is.since()),
                (one, other) ->
                    new BlockedKey(
                        one.handler(),
                        one.orderingKey(),
                        one.head().or(other::head),
                        true,
                        one.waiting(),
                        one.since().isBefore(other.since()) ? one.since() : other.since())));
    return found.values().stream()
        .sorted(Comparator.comparing(BlockedKey::since))
        .limit(limit)
        .toList();
  }

  private BlockedKey view(Key key, Delivery head, String orderingKey, boolean held, Instant since) {
    MessageRow message = tables.messages.get(head.seq());
    Optional<MessageRef> ref =
        message != null && tables.poison.containsKey(Tables.RowKey.of(head))
            ? Optional.of(message.ref())
            : Optional.empty();
    return new BlockedKey(
        tables.handlers.keyOf(head.keyId()),
        orderingKey,
        ref,
        held,
        Math.min(BlockedKey.MOST, waiting(key).size()),
        since);
  }

  private String orderingKey(Delivery row) {
    MessageRow message = tables.messages.get(row.seq());
    return message == null ? "" : Objects.requireNonNullElse(message.stored().orderingKey(), "");
  }
}
