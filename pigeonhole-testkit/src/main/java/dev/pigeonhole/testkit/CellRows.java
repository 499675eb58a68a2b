package dev.pigeonhole.testkit;

import dev.pigeonhole.store.Delivery;
import dev.pigeonhole.store.DuePosition;
import dev.pigeonhole.store.DueRange;
import dev.pigeonhole.store.Range;
import java.time.Instant;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * The open rows of one cell, with an index for each question that is asked of them: fresh ones by
 * number, late ones by due time or by place, ordered ones by key.
 */
final class CellRows {
  private static final Comparator<OpenRow> BY_DUE =
      Comparator.comparing(CellRows::dueOf).thenComparing(row -> row.delivery().seq());

  private static final Comparator<OpenRow> BY_PLACE =
      Comparator.<OpenRow, Long>comparing(row -> row.delivery().place())
          .thenComparing(row -> row.delivery().seq());

  private final Map<Long, OpenRow> all = new HashMap<>();
  private final TreeMap<Long, OpenRow> fresh = new TreeMap<>();
  private final TreeSet<OpenRow> byDue = new TreeSet<>(BY_DUE);
  private final TreeSet<OpenRow> byPlace = new TreeSet<>(BY_PLACE);
  private final Map<Long, TreeMap<Long, OpenRow>> byKey = new HashMap<>();

  @Nullable OpenRow get(long seq) {
    return all.get(seq);
  }

  Collection<OpenRow> all() {
    return all.values();
  }

  void put(OpenRow row) {
    Delivery delivery = row.delivery();
    all.put(delivery.seq(), row);
    if (!delivery.late()) {
      fresh.put(delivery.seq(), row);
    } else if (delivery.place() != 0) {
      byPlace.add(row);
    } else if (row.due() != null) {
      byDue.add(row);
    }
    Long keyHash = delivery.keyHash();
    if (keyHash != null) {
      byKey.computeIfAbsent(keyHash, key -> new TreeMap<>()).put(delivery.seq(), row);
    }
  }

  void remove(OpenRow row) {
    Delivery delivery = row.delivery();
    all.remove(delivery.seq());
    if (!delivery.late()) {
      fresh.remove(delivery.seq());
    } else if (delivery.place() != 0) {
      byPlace.remove(row);
    } else if (row.due() != null) {
      byDue.remove(row);
    }
    Long keyHash = delivery.keyHash();
    if (keyHash != null) {
      byKey.computeIfPresent(
          keyHash,
          (key, rows) -> {
            rows.remove(delivery.seq());
            return rows.isEmpty() ? null : rows;
          });
    }
  }

  void replace(OpenRow old, OpenRow with) {
    remove(old);
    put(with);
  }

  /** How many could run at once without ever having waited for a time. */
  int countFresh() {
    return fresh.size() + byPlace.size();
  }

  /** Rows with a place, the lowest first. */
  List<Delivery> placed(int limit) {
    return byPlace.stream().limit(limit).map(OpenRow::delivery).toList();
  }

  List<Delivery> fresh(Range range) {
    if (range.after() >= range.upTo()) {
      return List.of();
    }
    return fresh.subMap(range.after(), false, range.upTo(), true).values().stream()
        .limit(range.limit())
        .map(OpenRow::delivery)
        .toList();
  }

  /** All rows of the range that wait for a time, oldest due time first, as they change. */
  Collection<OpenRow> timed(DueRange range) {
    DuePosition after = range.after();
    if (after == null) {
      return byDue;
    }
    Delivery last = Delivery.fresh(range.cell(), after.seq(), 0, 0, null);
    return byDue.tailSet(OpenRow.due(last, after.dueAt()), false);
  }

  /** Open rows of a key with a number below this one, the lowest ones alone. */
  Collection<OpenRow> ahead(long keyHash, long seq, int most) {
    TreeMap<Long, OpenRow> rows = byKey.get(keyHash);
    return rows == null
        ? List.of()
        : rows.headMap(seq, false).values().stream().limit(most).toList();
  }

  /** Open rows of a key with a number above this one, lowest first. */
  Collection<OpenRow> behind(long keyHash, long seq) {
    TreeMap<Long, OpenRow> rows = byKey.get(keyHash);
    return rows == null ? List.of() : List.copyOf(rows.tailMap(seq, false).values());
  }

  static Instant dueOf(OpenRow row) {
    Instant due = row.due();
    if (due == null) {
      throw new IllegalStateException("Waits for no time: " + row);
    }
    return due;
  }
}
