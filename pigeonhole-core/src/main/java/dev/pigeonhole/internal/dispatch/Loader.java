package dev.pigeonhole.internal.dispatch;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.Failure;
import dev.pigeonhole.MessageRef;
import dev.pigeonhole.internal.registry.BoundHandler;
import dev.pigeonhole.internal.registry.Faults;
import dev.pigeonhole.internal.rescue.Node;
import dev.pigeonhole.store.Deliveries;
import dev.pigeonhole.store.Delivery;
import dev.pigeonhole.store.Loaded;
import dev.pigeonhole.store.MarkResult;
import dev.pigeonhole.store.StoreException;
import dev.pigeonhole.store.StoredMessage;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Makes work of rows. It marks those of cells on probation, loads what a handler is given, and
 * poisons what no handler can be given. If the database has lost the message of a row, and its
 * number belongs to another message, the row is gone. Touched by the dispatcher's thread alone.
 */
final class Loader {
  private final Deliveries store;
  private final Endings endings;
  private final Node node;
  private final int maxCrashes;
  private final HandlerLines lines;
  private final OwnedCells cells;
  private final OpenRows open;
  private final LoadLimit limit;
  private final Consumer<Delivery> gone;
  private final Consumer<Delivery> locked;

  /**
   * @param gone is notified of rows that another node or an operator has settled
   * @param locked is notified of rows that another transaction holds, so that they cannot be marked
   */
  Loader(
      Deliveries store,
      Endings endings,
      Node node,
      Dispatcher.Settings settings,
      HandlerLines lines,
      OwnedCells cells,
      OpenRows open,
      Consumer<Delivery> gone,
      Consumer<Delivery> locked) {
    this.store = store;
    this.endings = endings;
    this.node = node;
    this.maxCrashes = settings.maxCrashes();
    this.lines = lines;
    this.cells = cells;
    this.open = open;
    this.limit = new LoadLimit(settings.loadBytes());
    this.gone = gone;
    this.locked = locked;
  }

  /**
   * The work of these rows, as far as they can be run. Those whose content would be too much at
   * once wait in front of all others.
   *
   * @param normal the place of what comes in without a priority now
   */
  List<Work> load(List<Delivery> rows, long normal) {
    Set<Delivery> marked = new HashSet<>();
    List<Delivery> left = markIfOnProbation(rows, marked);
    try {
      return works(left, normal, marked);
    } catch (RuntimeException | Error e) {
      marked.forEach(this::owedAgain); // none of them begins
      throw e;
    }
  }

  /** The work of a suspect, whose mark says that it runs alone; null if it is not to be run. */
  @Nullable Work loadAlone(Delivery row, long normal) {
    if (row.crashes() >= maxCrashes) {
      poisonKiller(row);
      return null;
    }
    for (Work work : works(List.of(row), normal, new HashSet<>())) {
      MarkResult result = store.mark(List.of(row), node.incarnation(), true);
      if (result.complete()) {
        return work;
      }
      leaveOut(result);
    }
    return null;
  }

  private List<Delivery> markIfOnProbation(List<Delivery> rows, Set<Delivery> marked) {
    List<Delivery> toMark = new ArrayList<>();
    Map<CellState, Integer> marks = new HashMap<>();
    for (Delivery row : rows) {
      CellState cell = cells.get(row.cell());
      if (cell != null && marks.getOrDefault(cell, 0) < cell.probation) {
        toMark.add(row);
        marks.merge(cell, 1, Integer::sum);
      }
    }
    if (toMark.isEmpty()) {
      return rows;
    }
    MarkResult result = store.mark(toMark, node.incarnation(), false);
    Predicate<Delivery> isLeft =
        row -> !result.gone().contains(row) && !result.locked().contains(row);
    for (Delivery row : toMark) { // only now: a mark that failed is owed again
      if (isLeft.test(row) && marked.add(row)) {
        countMark(row, 1);
      }
    }
    leaveOut(result);
    return result.complete() ? rows : rows.stream().filter(isLeft).toList();
  }

  private void leaveOut(MarkResult result) {
    result.gone().forEach(gone);
    result.locked().forEach(locked);
  }

  /**
   * @param marked the rows that count in the probation of their cells
   */
  private List<Work> works(List<Delivery> rows, long normal, Set<Delivery> marked) {
    Set<Long> seqs = new LinkedHashSet<>();
    List<Delivery> retried = new ArrayList<>();
    List<Delivery> now = new ArrayList<>(rows.size());
    for (Delivery row : rows) {
      if (row.failures() > 0 && retried.size() >= limit.failures()) {
        waitsFirst(row, marked);
        continue;
      }
      now.add(row);
      seqs.add(row.seq());
      if (row.failures() > 0) {
        retried.add(row);
      }
    }
    Content content = load(List.copyOf(seqs), retried);
    Loaded loaded = content.loaded();
    List<Work> works = new ArrayList<>(now.size());
    for (Delivery row : now) {
      StoredMessage message = loaded.messages().get(row.seq());
      CellState cell = cells.get(row.cell());
      if (loaded.left().contains(row.seq())) {
        waitsFirst(row, marked);
      } else if (message != null && !message.isOf(row)) {
        gone.accept(row);
      } else if (message == null) {
        poison(
            row,
            nameless(row),
            ErrorCode.PAYLOAD_MISSING_MESSAGE,
            "The message of this delivery is gone.");
      } else {
        long token = cell == null ? 0 : cell.token;
        long owner = cell == null ? 0 : cell.owner;
        long place = Priority.place(row, message, normal);
        StoredMessage own = message.as(row.cell().handler());
        works.add(new Work(row, own, content.failures().get(row), token, owner, place));
      }
    }
    return works;
  }

  /** The load was full before its turn came. */
  private void waitsFirst(Delivery row, Set<Delivery> marked) {
    lines.of(row.cell()).waitsFirst(row);
    if (marked.remove(row)) {
      owedAgain(row);
    }
  }

  /** It is marked once more when its turn comes. */
  private void owedAgain(Delivery row) {
    countMark(row, -1);
  }

  private void countMark(Delivery row, int marks) {
    CellState cell = cells.get(row.cell());
    if (cell != null) {
      cells.marked(cell, marks);
    }
  }

  /** Messages, and the failures before the attempts that are retries. */
  private record Content(Loaded loaded, Map<Delivery, Failure> failures) {}

  private Content load(List<Long> seqs, List<Delivery> retried) {
    long most = limit.bytes();
    try {
      Loaded loaded = store.load(seqs, most);
      Map<Delivery, Failure> failures = retried.isEmpty() ? Map.of() : store.lastFailures(retried);
      limit.succeeded();
      return new Content(loaded, failures);
    } catch (RuntimeException | OutOfMemoryError e) {
      OutOfMemoryError cause = Faults.outOfMemory(e);
      if (cause == null) {
        throw e;
      }
      if (!limit.outOfMemory()) {
        throw cause;
      }
      String text =
          "There was no memory to load up to %d messages with %d bytes of content; the next load"
              + " brings half of that. Give the process more heap, or lower maxPayload(…).";
      throw new StoreException(
          StoreException.Kind.TRANSIENT,
          ErrorCode.DATABASE_TRANSIENT,
          text.formatted(seqs.size(), most),
          null);
    }
  }

  private void poisonKiller(Delivery row) {
    BoundHandler handler = lines.of(row.cell()).handler;
    StoredMessage message = store.load(List.of(row.seq()), 1).messages().get(row.seq());
    if (message != null && !message.isOf(row)) {
      gone.accept(row);
      return;
    }
    poison(
        row,
        message == null ? nameless(row) : new MessageRef(message.source(), message.id()),
        ErrorCode.HANDLER_CRASHED,
        "Handler '%s' ended its process %d times after it had started alone with this message."
            .formatted(handler.keyOf(row.keyId()), row.crashes()));
  }

  private void poison(Delivery row, MessageRef message, ErrorCode code, String text) {
    open.hand(row);
    endings.hopeless(row, lines.of(row.cell()).handler, message, code, text);
  }

  /** Stands for a message that is gone. */
  private static MessageRef nameless(Delivery row) {
    return new MessageRef("", "#" + row.seq());
  }
}
