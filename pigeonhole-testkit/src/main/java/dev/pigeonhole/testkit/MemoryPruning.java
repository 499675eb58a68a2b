package dev.pigeonhole.testkit;

import dev.pigeonhole.store.AdminChange.Effect;
import dev.pigeonhole.store.CrashPoints;
import dev.pigeonhole.store.Pruning;
import dev.pigeonhole.store.Pruning.Fate;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Retention, in memory; inside a commit of the tables. */
final class MemoryPruning {
  private final Tables tables;
  private long prunedTo;
  private @Nullable Instant prunedAt;

  MemoryPruning(Tables tables) {
    this.tables = tables;
  }

  void clear() {
    prunedTo = 0;
    prunedAt = null;
  }

  Pruning.Step step(Pruning pruning, int limit) {
    Instant now = tables.now();
    Instant last = prunedAt;
    if (prunedTo == 0
        && last != null
        && !last.isAfter(now)
        && Duration.between(last, now).compareTo(pruning.betweenRounds()) < 0) {
      return new Pruning.Step(0, 0, false);
    }
    List<MessageRow> next =
        tables.messages.tailMap(prunedTo, false).values().stream().limit(limit).toList();
    List<MessageRow> old =
        next.stream()
            .filter(
                row -> Duration.between(row.receivedAt(), now).compareTo(pruning.youngest()) >= 0)
            .toList();
    List<MessageRow> deleted = new ArrayList<>();
    List<MessageRow> dropped = new ArrayList<>();
    for (MessageRow row : old) {
      boolean due =
          pruning.walk().covers(row.stored().transport())
              && pruning.due(row.stored().type(), row.receivedAt(), now, row.hasContent());
      Fate fate = !due || open(row) ? Fate.KEEP : pruning.judge(finished(row, now));
      if (fate == Fate.DELETE) {
        deleted.add(row);
      } else if (fate == Fate.DROP_CONTENT) {
        dropped.add(row);
      }
    }
    if (!deleted.isEmpty() && pruning.archives()) {
      pruning.archive(deleted.stream().map(MessageRow::stored).toList());
    }
    CrashPoints.reach("prune.before-commit");
    if (prunedTo == 0) {
      forgetOperations(now.minus(pruning.keepOperations()));
    }
    dropped.forEach(MessageRow::dropContent);
    deleted.forEach(this::delete);
    boolean young = old.isEmpty() && next.stream().anyMatch(row -> !row.receivedAt().isAfter(now));
    boolean more = next.size() == limit && !young;
    prunedTo = more ? next.get(next.size() - 1).seq() : 0;
    prunedAt = now;
    return new Pruning.Step(deleted.size(), dropped.size(), more);
  }

  private void forgetOperations(Instant finishedBy) {
    tables
        .operations
        .values()
        .removeIf(
            row -> {
              Instant finished = row.finishedAt();
              return finished != null && !finished.isAfter(finishedBy);
            });
  }

  private boolean open(MessageRow row) {
    return hasOpen(row) || hasConflicts(row);
  }

  private boolean hasOpen(MessageRow row) {
    return row.families().stream().anyMatch(family -> tables.find(row, family) != null);
  }

  private boolean hasConflicts(MessageRow row) {
    return tables.conflicts.stream().anyMatch(copy -> copy.seq() == row.seq());
  }

  /** Deletes one message because an operator says so, unless something stands in the way. */
  Effect purge(long seq) {
    MessageRow row = tables.messages.get(seq);
    if (row == null) {
      return Effect.GONE;
    }
    if (hasOpen(row)) {
      return Effect.OPEN;
    }
    if (row.families().stream()
        .anyMatch(family -> tables.poison.containsKey(new Tables.RowKey(seq, family)))) {
      return Effect.POISONED;
    }
    if (hasConflicts(row)) {
      return Effect.CONFLICTS;
    }
    delete(row);
    return Effect.CHANGED;
  }

  private Pruning.Finished finished(MessageRow row, Instant now) {
    Map<Integer, Instant> completed = new HashMap<>();
    Map<Integer, Instant> poisoned = new HashMap<>();
    for (int family : row.families()) {
      Tables.RowKey key = new Tables.RowKey(row.seq(), family);
      Tables.ReceiptRow receipt = tables.receipts.get(key);
      if (receipt != null) {
        completed.put(family, receipt.at());
      }
      Tables.PoisonRow poison = tables.poison.get(key);
      if (poison != null) {
        poisoned.put(family, poison.at());
      }
    }
    return new Pruning.Finished(
        row.stored().type(),
        row.receivedAt(),
        now,
        row.hasContent(),
        completed,
        Map.of(), // there are no guards
        poisoned);
  }

  private void delete(MessageRow row) {
    for (int family : row.families()) {
      Tables.RowKey key = new Tables.RowKey(row.seq(), family);
      Tables.PoisonRow poison = tables.poison.remove(key);
      if (poison != null) {
        tables.keys.letGo(poison.delivery());
        tables.audit(
            "delete",
            row.ref(),
            tables.handlers.keyOf(poison.delivery().keyId()),
            "retention",
            "keepPoisoned");
      }
      tables.receipts.remove(key);
      tables.forgetFailures(key);
    }
    tables.messages.remove(row.seq());
    tables.byIdentity.remove(row.ref());
  }
}
