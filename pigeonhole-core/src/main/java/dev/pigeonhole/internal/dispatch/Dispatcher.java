package dev.pigeonhole.internal.dispatch;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.Failure;
import dev.pigeonhole.MessageRef;
import dev.pigeonhole.event.InboxEvent;
import dev.pigeonhole.internal.registry.BoundHandler;
import dev.pigeonhole.internal.rescue.Node;
import dev.pigeonhole.store.Cell;
import dev.pigeonhole.store.CellRow;
import dev.pigeonhole.store.Deliveries;
import dev.pigeonhole.store.Delivery;
import dev.pigeonhole.store.Outcome;
import dev.pigeonhole.store.Settlement;
import dev.pigeonhole.store.StoredMessage;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Decides what runs next on this node. Its thread is the <em>reader</em> of logs, thread names and
 * events.
 *
 * <p>One thread owns all of its state: cells with their cursors, rows waiting to be loaded,
 * ordering keys, suspects. Everything else reaches it as mail: settles that have committed, accepts
 * that can be handed over, cells gained and lost. So there are no locks to reason about, and the
 * same code runs without any thread at all when an inbox is driven by hand.
 *
 * <p>A turn reads what the handlers have room for ({@link Reads}), lets ordered rows wait for their
 * turn ({@link OrderedKeys}) and suspects for a quiet moment ({@link Suspects}), marks rows of
 * cells on probation, loads payloads and hands work to the slots.
 *
 * <p>What this process accepts is handed over without a read, if it is for a cell that has caught
 * up. Ordered rows never are: an accept on another node may have come first.
 */
final class Dispatcher {
  private static final Logger LOG = LoggerFactory.getLogger(Dispatcher.class);

  /** What the dispatcher is told about its inbox. */
  record Settings(int batchSize, int maxCrashes, Duration pollMin, Duration pollMax) {}

  private final Deliveries store;
  private final Settler settler;
  private final Endings endings;
  private final Events events;
  private final Settings settings;
  private final Node node;
  private final InstantSource clock;
  private final Map<Integer, HandlerLine> lines;
  private final List<HandlerLine> distinctLines;
  private final OpenSet open;
  private final Reads reads;
  private final OrderedKeys keys;
  private final Suspects suspects = new Suspects(this::nothingRuns, System::nanoTime);
  private final LinkedBlockingQueue<Runnable> mail = new LinkedBlockingQueue<>();

  private final OwnedCells cells = new OwnedCells(this::shareRates);

  /** Rows that a slot has begun and whose end is not written yet. */
  private final Set<Delivery> begun = ConcurrentHashMap.newKeySet();

  /** Rows that slots or the settler have: news of each will come. Survives a reset. */
  private final Set<Delivery> handed = new HashSet<>();

  /** The place of what comes in without a priority at this turn. */
  private long normal;

  private volatile boolean stopped;

  Dispatcher(
      Deliveries store,
      Settler settler,
      Endings endings,
      Events events,
      Settings settings,
      Node node,
      InstantSource clock,
      Map<Integer, HandlerLine> lines,
      OpenSet open) {
    this.store = store;
    this.settler = settler;
    this.endings = endings;
    this.events = events;
    this.settings = settings;
    this.node = node;
    this.clock = clock;
    this.lines = lines;
    this.distinctLines = List.copyOf(new HashSet<>(lines.values()));
    this.open = open;
    this.reads = new Reads(store, settings, cells.all(), this::line);
    this.keys = new OrderedKeys(store, distinctLines, new KeyedRows());
  }

  // ---- mail, from any thread

  /** Leaves a piece of news for the dispatcher's thread. */
  void post(Runnable news) {
    mail.add(news);
  }

  void wake() {
    post(reads::wake);
  }

  Set<Cell> owned() {
    return cells.staying();
  }

  Set<Cell> leaving() {
    return cells.leaving();
  }

  /** While true no slot may start anything: a suspect runs alone. */
  boolean quiet() {
    return suspects.quiet();
  }

  boolean resting(BoundHandler handler) {
    return distinctLines.stream()
        .anyMatch(line -> line.handler == handler && (line.paused || line.breaker.paused()));
  }

  void begun(Delivery row) {
    begun.add(row);
  }

  /** Starts nothing from now on; queued work is dropped, and each cell given back once idle. */
  void stop() {
    stopped = true;
    post(
        () -> {
          dropEverything();
          cells.leaveAll();
        });
  }

  // ---- the dispatcher's thread from here on

  /** Waits for news at most until the next read is due, then does everything that can be done. */
  void turn(boolean waiting) throws InterruptedException {
    long wait = waiting ? nanosUntilNext(System.nanoTime()) : 0;
    Runnable first = wait > 0 ? mail.poll(wait, TimeUnit.NANOSECONDS) : mail.poll();
    normal = Priority.normal(clock.instant());
    if (first != null) {
      first.run();
      for (Runnable next = mail.poll(); next != null; next = mail.poll()) {
        next.run();
      }
    }
    if (stopped || !node.mayStart()) {
      if (waiting && first == null && wait <= 0) {
        TimeUnit.MILLISECONDS.sleep(10); // nothing may start, so nothing is worth a busy loop
      }
      cells.giveBackWhatIsIdle(node);
      return;
    }
    reads.turn(System.nanoTime(), this::take);
    keys.refill();
    if (reads.sweptNow()) {
      keys.lookAgainAtWaiting();
    }
    runSuspect(); // before the load, for it tells when the others may go on
    load();
    cells.endProbations(node);
    cells.giveBackWhatIsIdle(node);
    wakeWorkers();
  }

  private long nanosUntilNext(long now) {
    long next = keys.hungry() ? 0 : reads.nanosUntilNext(now);
    for (HandlerLine line : distinctLines) {
      if (!line.ready.isEmpty() && !quiet() && line.takes(1) > 0) {
        next = Math.min(next, line.rate.nanosUntilNext(now));
      }
      long probe = line.nanosUntilProbe(now);
      if (probe > 0) {
        next = Math.min(next, probe);
      }
    }
    return next;
  }

  boolean hasMail() {
    return !mail.isEmpty();
  }

  /** Looks at everything at once: used when driven by hand. */
  void lookNow() {
    reads.lookNow();
  }

  /**
   * Begins anew after a failure in the middle of a turn, which may have left a row anywhere: only
   * what slots and settler have is remembered, everything else is read again. Mail is kept, for
   * each piece of news comes once.
   */
  void reset() {
    for (HandlerLine line : distinctLines) {
      line.withdraw(any -> true).forEach(work -> handed.remove(work.delivery()));
      line.ready.withdraw(any -> true);
      line.keys.clear();
      line.occupancy = 0;
      line.placed = 0;
      line.waitingInKeys = 0;
    }
    suspects.reset(handed);
    open.retain(handed);
    for (Delivery row : handed) {
      line(row.cell()).entered(row);
    }
    cells.reset(handed);
    reads.wake();
  }

  // ---- cells

  void cellsTaken(List<CellRow> rows) {
    List<CellState> taken = new ArrayList<>();
    for (CellRow row : rows) {
      HandlerLine line = line(row.cell());
      int probation = row.unclean() ? 10 * line.slots + settings.batchSize() : 0;
      taken.add(new CellState(row.cell(), row.token(), probation));
    }
    cells.take(taken, handed);
    reads.wake();
  }

  void cellsWanted(List<Cell> wanted) {
    cells.leave(wanted);
    dropOwned(wanted);
    cells.giveBackWhatIsIdle(node);
  }

  void cellsGone(List<Cell> gone) {
    dropOwned(gone);
    cells.remove(gone); // only now: what is dropped counts where it was counted
  }

  void cellsLost() {
    dropEverything();
    cells.clear();
  }

  /** A node has as much of a handler's rate as it has of its cells. */
  private void shareRates() {
    Map<HandlerLine, Integer> counts = new HashMap<>();
    cells.all().forEach(state -> counts.merge(line(state.cell), 1, Integer::sum));
    long now = System.nanoTime();
    distinctLines.forEach(line -> line.rate.owns(counts.getOrDefault(line, 0), now));
  }

  /** What has not begun of a paused handler is given up here, and read again when it goes on. */
  void paused(Set<Integer> families) {
    for (HandlerLine line : distinctLines) {
      boolean pause = line.handler.ids().stream().anyMatch(id -> families.contains(id.family()));
      if (pause && !line.paused) {
        line.paused = true;
        dropUnstarted(line);
        LOG.info("Handler '{}' of inbox {} was paused", line.handler.key(), events.inbox());
        events.tell(
            new InboxEvent.HandlerPaused(events.inbox(), line.handler.key(), "by an operator"));
      } else if (!pause && line.paused) {
        line.paused = false;
        reads.wake();
        LOG.info("Handler '{}' of inbox {} goes on", line.handler.key(), events.inbox());
        events.tell(new InboxEvent.HandlerResumed(events.inbox(), line.handler.key()));
      }
    }
  }

  private HandlerLine line(Cell cell) {
    HandlerLine line = lines.get(cell.handler());
    if (line == null) {
      throw new IllegalStateException("no handler for " + cell);
    }
    return line;
  }

  // ---- rows coming in

  /** Answers how many of the rows are open from now on and were not before. */
  private int take(List<Delivery> rows) {
    int before = open.size();
    List<Delivery> ordered = new ArrayList<>();
    for (Delivery row : rows) {
      CellState cell = cells.get(row.cell());
      if (cell == null || cell.leaving || !fits(row) || !open.offer(row)) {
        continue;
      }
      cells.opened(cell, row);
      if (keys.orders(row)) {
        ordered.add(row);
      } else {
        admit(row);
      }
    }
    if (!ordered.isEmpty()) {
      keys.take(ordered);
    }
    return open.size() - before;
  }

  private boolean fits(Delivery row) {
    return row.place() == 0 || line(row.cell()).takesPlaced(row.place(), normal);
  }

  /** To be run as soon as it is loaded; suspects wait until nothing else runs. */
  private void admit(Delivery row) {
    HandlerLine line = line(row.cell());
    line.entered(row);
    if (row.mark() != 0 && node.died(row.mark())) {
      suspects.add(row);
    } else {
      line.waits(row, normal);
    }
  }

  /** What the keys may do with rows. */
  private final class KeyedRows implements OrderedKeys.Rows {
    @Override
    public HandlerLine line(Cell cell) {
      return Dispatcher.this.line(cell);
    }

    @Override
    public boolean staying(Cell cell) {
      CellState state = cells.get(cell);
      return state != null && !state.leaving;
    }

    @Override
    public boolean isOpen(Delivery row) {
      return open.contains(row);
    }

    @Override
    public boolean open(Delivery row) {
      CellState cell = cells.get(row.cell());
      if (cell == null || !open.offer(row)) {
        return false;
      }
      cells.opened(cell, row);
      return true;
    }

    @Override
    public void forget(Delivery row) {
      open.dropped(row);
      cells.closed(row);
    }

    @Override
    public void admit(Delivery row) {
      Dispatcher.this.admit(row);
    }

    @Override
    public void block(Delivery row) {
      line(row.cell()).entered(row);
      handed.add(row);
      settler.add(new Settlement(row, new Outcome.Blocked()), null);
    }

    @Override
    public void sweepSoon() {
      reads.sweepSoon();
    }
  }

  // ---- handing out

  /** Loads payloads for what waits, in one statement, and gives it to the slots. */
  private void load() {
    if (quiet()) {
      return;
    }
    List<Delivery> rows = new ArrayList<>();
    long now = System.nanoTime();
    for (HandlerLine line : distinctLines) {
      int most = line.takes(settings.batchSize());
      for (int i = 0; i < most && !line.ready.isEmpty(); i++) {
        if (!line.rate.take(now)) {
          break;
        }
        Delivery row = line.ready.poll();
        if (row != null) {
          rows.add(row);
        }
      }
    }
    if (rows.isEmpty()) {
      return;
    }
    List<Delivery> marked = markIfOnProbation(rows);
    for (Work work : works(marked)) {
      handed.add(work.delivery());
      line(work.delivery().cell()).enqueue(work);
    }
    wakeWorkers();
  }

  private List<Delivery> markIfOnProbation(List<Delivery> rows) {
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
    Set<Delivery> gone = store.mark(toMark, node.incarnation(), false);
    marks.forEach(cells::marked); // only now: a mark that failed is owed again
    if (gone.isEmpty()) {
      return rows;
    }
    gone.forEach(this::gone);
    return rows.stream().filter(row -> !gone.contains(row)).toList();
  }

  private List<Work> works(List<Delivery> rows) {
    Set<Long> seqs = new HashSet<>();
    List<Delivery> retried = new ArrayList<>();
    for (Delivery row : rows) {
      seqs.add(row.seq());
      if (row.failures() > 0) {
        retried.add(row);
      }
    }
    Map<Long, StoredMessage> messages = store.load(seqs);
    Map<Delivery, Failure> failures = retried.isEmpty() ? Map.of() : store.lastFailures(retried);
    List<Work> works = new ArrayList<>(rows.size());
    for (Delivery row : rows) {
      StoredMessage message = messages.get(row.seq());
      CellState cell = cells.get(row.cell());
      if (message == null) {
        poison(
            row,
            nameless(row),
            ErrorCode.PAYLOAD_MISSING_MESSAGE,
            "The message of this delivery is gone.");
      } else {
        long token = cell == null ? 0 : cell.token;
        StoredMessage own = message.as(row.cell().handler());
        works.add(new Work(row, own, failures.get(row), token, place(row, message)));
      }
    }
    return works;
  }

  /** What waited for a time waits for its turn since then, not since it was received. */
  private long place(Delivery row, StoredMessage message) {
    if (row.place() != 0) {
      return row.place();
    }
    return row.late() ? normal : Priority.normal(message.receivedAt());
  }

  private void poison(Delivery row, MessageRef message, ErrorCode code, String text) {
    handed.add(row);
    endings.hopeless(row, line(row.cell()).handler, message, code, text);
  }

  private void wakeWorkers() {
    distinctLines.forEach(HandlerLine::wakeWorkers);
  }

  private boolean nothingRuns() {
    return begun.isEmpty() && distinctLines.stream().allMatch(HandlerLine::resting);
  }

  private void runSuspect() {
    Delivery row = suspects.next();
    if (row == null) {
      return;
    }
    if (row.crashes() >= settings.maxCrashes()) {
      poisonKiller(row);
      return;
    }
    for (Work work : works(List.of(row))) {
      if (store.mark(List.of(row), node.incarnation(), true).contains(row)) {
        gone(row);
      } else {
        line(row.cell()).runAlone(work);
        handed.add(row);
      }
    }
  }

  private void poisonKiller(Delivery row) {
    BoundHandler handler = line(row.cell()).handler;
    StoredMessage message = store.load(List.of(row.seq())).get(row.seq());
    poison(
        row,
        message == null ? nameless(row) : new MessageRef(message.source(), message.id()),
        ErrorCode.HANDLER_CRASHED,
        "Handler '%s' ended its process %d times while it ran alone with this message."
            .formatted(handler.keyOf(row.keyId()), row.crashes()));
  }

  /** Stands for a message that is gone. */
  private static MessageRef nameless(Delivery row) {
    return new MessageRef("", "#" + row.seq());
  }

  // ---- what came of it

  void settled(List<Settled> results) {
    for (int i = 0; i < results.size(); i++) {
      try {
        settled(results.get(i));
      } catch (RuntimeException e) {
        List<Settled> rest = results.subList(i + 1, results.size());
        post(() -> settled(rest));
        throw e;
      }
    }
    reads.roomMade();
  }

  private void settled(Settled result) {
    Delivery row = result.settlement().delivery();
    Outcome outcome = result.settlement().outcome();
    HandlerLine line = line(row.cell());
    if (open.settled(row)) {
      cells.closed(row);
      line.left(row);
    }
    ended(row);
    if (result.refused()) {
      events.tell(new InboxEvent.Refused(events.inbox(), line.handler.key(), row.seq()));
    } else if (outcome instanceof Outcome.RetryAfter retry) {
      reads.dueIn(retry.delay());
    } else if (outcome instanceof Outcome.LaterUncounted later) {
      reads.dueIn(later.delay());
    }
    keys.settled(row, outcome, result.refused());
  }

  /** The row is not ours to run: locked or settled by another, or its commit is in doubt. */
  void notOurs(Delivery row) {
    letGo(row);
    reads.sweepSoon();
    reads.roomMade();
  }

  /**
   * Whether the row of an attempt that does not end could be settled at once, because nobody holds
   * it in the database any more. The question leaves a mark, which the settle takes away.
   */
  void askWhetherFree(Delivery row, Consumer<Boolean> answer) {
    boolean free = false;
    try {
      free =
          handed.contains(row)
              && cells.contains(row.cell())
              && store.mark(List.of(row), node.incarnation(), false).isEmpty();
    } finally {
      answer.accept(free);
    }
  }

  /** The row is gone or has changed: somebody else has settled it. */
  private void gone(Delivery row) {
    settled(new Settled(new Settlement(row, new Outcome.Completed()), true));
  }

  private void ended(Delivery row) {
    begun.remove(row);
    handed.remove(row);
    suspects.ended(row);
  }

  // ---- hand-over of local accepts

  void handOver(long ticket, Collection<HandOver> accepted) {
    boolean any = false;
    for (HandOver each : accepted) {
      CellState cell = cells.get(each.row().cell());
      if (cell == null || cell.leaving) {
        continue;
      }
      HandlerLine line = line(each.row().cell());
      boolean placed = each.row().place() != 0;
      if (!fits(each.row())) {
        reads.leftBehind(line);
        continue;
      }
      boolean direct =
          (placed || (cell.caughtUp && line.room() > 0))
              && cell.probation == 0
              && !keys.orders(each.row())
              && line.ready.isEmpty() // or it would overtake what waits for the handler's rate
              && line.takes(1) > 0
              && !quiet()
              && !stopped
              && node.mayStart();
      if (each.row().late() && !placed) {
        reads.dueIn(Duration.ZERO); // which tells when its time comes
      } else if (!direct || !line.rate.take(System.nanoTime())) {
        if (placed) {
          reads.placedSoon();
        } else {
          reads.wake(cell);
        }
      } else if (open.offer(each.row())) {
        cells.opened(cell, each.row());
        line.entered(each.row());
        handed.add(each.row());
        line.enqueue(
            new Work(
                each.row(), each.message(), null, cell.token, place(each.row(), each.message())));
        any = true;
      }
    }
    open.returnTicket(ticket);
    if (any) {
      wakeWorkers();
    }
  }

  // ---- dropping

  private void dropOwned(List<Cell> some) {
    for (Cell cell : some) {
      if (cells.contains(cell)) {
        drop(cell);
      }
    }
  }

  private void drop(Cell cell) {
    HandlerLine line = line(cell);
    dropUnstarted(line, cell::equals);
    suspects.withdraw(row -> row.cell().equals(cell)).forEach(this::forgetUnstarted);
    keys.drop(line, cell);
  }

  private void dropEverything() {
    distinctLines.forEach(this::dropUnstarted);
    suspects.quietOnlyForTheRunning();
  }

  private void dropUnstarted(HandlerLine line) {
    dropUnstarted(line, any -> true);
    suspects.withdraw(row -> line(row.cell()) == line).forEach(this::forgetUnstarted);
    keys.drop(line);
  }

  private void dropUnstarted(HandlerLine line, Predicate<Cell> which) {
    line.withdraw(which).forEach(work -> forgetUnstarted(work.delivery()));
    line.ready.withdraw(row -> which.test(row.cell())).forEach(this::forgetUnstarted);
  }

  /** Work that was queued for a slot, or taken by one that may not start it. */
  void forgetUnstarted(Delivery row) {
    letGo(row);
    CellState cell = cells.get(row.cell());
    if (cell != null && !row.late()) {
      cell.cursor = Math.min(cell.cursor, row.seq() - 1);
      cell.caughtUp = false;
    }
  }

  /** The row's attempt is over without an end; whoever reads the row again may have it. */
  private void letGo(Delivery row) {
    if (open.dropped(row)) {
      cells.closed(row);
      line(row.cell()).left(row);
    }
    ended(row);
    keys.left(row);
  }
}
