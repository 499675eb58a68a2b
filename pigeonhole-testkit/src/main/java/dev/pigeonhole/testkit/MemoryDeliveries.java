package dev.pigeonhole.testkit;

import dev.pigeonhole.Failure;
import dev.pigeonhole.store.Ahead;
import dev.pigeonhole.store.AheadRead;
import dev.pigeonhole.store.Cell;
import dev.pigeonhole.store.CellLimit;
import dev.pigeonhole.store.CrashPoints;
import dev.pigeonhole.store.Deliveries;
import dev.pigeonhole.store.Delivery;
import dev.pigeonhole.store.DuePosition;
import dev.pigeonhole.store.DueRange;
import dev.pigeonhole.store.DueRead;
import dev.pigeonhole.store.Loaded;
import dev.pigeonhole.store.MarkResult;
import dev.pigeonhole.store.Range;
import dev.pigeonhole.store.SettleResult;
import dev.pigeonhole.store.Settlement;
import dev.pigeonhole.store.StoredMessage;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** Reading and settling, in memory. */
final class MemoryDeliveries implements Deliveries {
  private final Tables tables;
  private final Settler settler;

  MemoryDeliveries(Tables tables) {
    this.tables = tables;
    this.settler = new Settler(tables);
  }

  @Override
  public List<Delivery> fresh(List<Range> ranges) {
    return tables.commit(
        () ->
            ranges.stream()
                .flatMap(range -> tables.open(range.cell()).fresh(range).stream())
                .toList());
  }

  @Override
  public DueRead due(List<DueRange> ranges) {
    return tables.commit(
        () -> {
          Instant now = tables.now();
          List<OpenRow> due = new ArrayList<>();
          Optional<Duration> untilNext = Optional.empty();
          Map<Cell, DuePosition> cut = new HashMap<>();
          for (DueRange range : ranges) {
            int left = range.limit();
            for (OpenRow row : tables.open(range.cell()).timed(range)) {
              if (row.isDue(now) && left > 0) {
                due.add(row);
                left--;
                continue;
              }
              Duration wait = Duration.between(now, CellRows.dueOf(row));
              untilNext = sooner(untilNext, wait.isNegative() ? Duration.ZERO : wait);
              if (row.isDue(now) && left < range.limit()) {
                cut.put(range.cell(), position(due.get(due.size() - 1)));
              }
              break;
            }
          }
          due.sort(
              Comparator.comparing(CellRows::dueOf).thenComparing(row -> row.delivery().seq()));
          return new DueRead(
              due.stream().map(OpenRow::delivery).toList(), untilNext, Map.copyOf(cut));
        });
  }

  private static DuePosition position(OpenRow row) {
    return new DuePosition(CellRows.dueOf(row), row.delivery().seq());
  }

  @Override
  public List<Delivery> placed(List<CellLimit> cells) {
    return tables.commit(
        () ->
            cells.stream()
                .flatMap(cell -> tables.open(cell.cell()).placed(cell.limit()).stream())
                .sorted(Comparator.comparing(Delivery::place).thenComparing(Delivery::seq))
                .toList());
  }

  private static Optional<Duration> sooner(Optional<Duration> one, Duration other) {
    return one.isPresent() && one.get().compareTo(other) <= 0 ? one : Optional.of(other);
  }

  @Override
  public Map<Integer, Integer> waiting(List<Cell> cells, int atMost) {
    return tables.commit(
        () -> {
          Map<Integer, Integer> waiting = new HashMap<>();
          for (Cell cell : cells) {
            waiting.merge(
                cell.handler(),
                tables.open(cell).countFresh(),
                (sum, more) -> Math.min(sum + more, atMost));
          }
          waiting.replaceAll((family, count) -> Math.min(count, atMost));
          return waiting;
        });
  }

  @Override
  public AheadRead ahead(List<Ahead> rows) {
    return tables.commit(
        () -> {
          Set<Delivery> open = new LinkedHashSet<>();
          Set<Ahead> blocked = new LinkedHashSet<>();
          for (Ahead row : rows) {
            for (OpenRow ahead :
                tables.open(row.cell()).ahead(row.keyHash(), row.seq(), Ahead.MOST)) {
              open.add(ahead.delivery());
            }
            if (tables.keys.inTheWay(row.cell().handler(), row.keyHash(), row.seq())) {
              blocked.add(row);
            }
          }
          return new AheadRead(List.copyOf(open), Set.copyOf(blocked));
        });
  }

  @Override
  public Loaded load(List<Long> seqs, long bytes) {
    return tables.commit(
        () -> {
          Map<Long, StoredMessage> found = new HashMap<>();
          Set<Long> left = new LinkedHashSet<>();
          long free = bytes;
          int edited = 0;
          for (Long seq : seqs) {
            MessageRow row = tables.messages.get(seq);
            if (row == null) {
              continue;
            }
            StoredMessage message = row.stored();
            long size = size(message);
            boolean tooMany = !message.edits().isEmpty() && ++edited > EDITED_AT_ONCE;
            if (tooMany || (size > free && !seq.equals(seqs.get(0)))) {
              left.add(seq);
            } else {
              free -= size;
              found.put(seq, message);
            }
          }
          return new Loaded(found, left);
        });
  }

  private static long size(StoredMessage message) {
    byte[] content = message.content();
    return message.headers().length + (content == null ? 0 : content.length);
  }

  @Override
  public Map<Delivery, Failure> lastFailures(List<Delivery> deliveries) {
    return tables.commit(
        () -> {
          Map<Delivery, Failure> found = new LinkedHashMap<>();
          for (Delivery delivery : deliveries) {
            tables
                .lastFailure(Tables.RowKey.of(delivery))
                .ifPresent(failure -> found.put(delivery, failure));
          }
          return found;
        });
  }

  @Override
  public SettleResult settle(List<Settlement> settlements) {
    CrashPoints.reach("settle.before-commit");
    Set<Delivery> refused =
        tables.commit(
            () -> {
              Set<Delivery> missed = new LinkedHashSet<>();
              for (Settlement settlement : settlements) {
                if (!settler.settle(settlement)) {
                  missed.add(settlement.delivery());
                }
              }
              return missed;
            });
    CrashPoints.reach("settle.after-commit");
    return SettleResult.refusing(refused);
  }

  @Override
  public MarkResult mark(List<Delivery> deliveries, long incarnation, boolean lone) {
    CrashPoints.reach("mark.before-commit");
    Set<Delivery> missing =
        tables.commit(
            () -> {
              Set<Delivery> missed = new LinkedHashSet<>();
              for (Delivery delivery : deliveries) {
                OpenRow row = tables.at(delivery);
                if (row == null) {
                  missed.add(delivery);
                } else {
                  tables.open(delivery.cell()).replace(row, marked(row, incarnation, lone));
                }
              }
              return missed;
            });
    CrashPoints.reach("mark.after-commit");
    return missing.isEmpty() ? MarkResult.allMarked() : new MarkResult(missing, Set.of());
  }

  private static OpenRow marked(OpenRow row, long incarnation, boolean lone) {
    Delivery was = row.delivery();
    Delivery is =
        new Delivery(
            was.cell(),
            was.seq(),
            was.version(),
            was.keyId(),
            was.failures(),
            lone ? was.crashes() + 1 : was.crashes(),
            was.releases(),
            was.keyHash(),
            incarnation,
            was.late(),
            was.place());
    return new OpenRow(is, row.due());
  }
}
