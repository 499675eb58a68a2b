package dev.pigeonhole.internal.dispatch;

import dev.pigeonhole.event.InboxEvent;
import dev.pigeonhole.internal.rescue.Node;
import dev.pigeonhole.store.Cell;
import dev.pigeonhole.store.CellRow;
import dev.pigeonhole.store.Deliveries;
import dev.pigeonhole.store.Delivery;
import dev.pigeonhole.store.Outcome;
import dev.pigeonhole.store.Settlement;
import dev.pigeonhole.store.StoreException;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Set;
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
 * turn ({@link OrderedKeys}) and suspects for a quiet moment ({@link Suspects}), takes what each
 * handler may begin now ({@link HandlerLines}), marks rows of cells on probation, loads payloads
 * ({@link Loader}) and hands work to the slots.
 *
 * <p>What this process accepts is handed over without a read, if it is for a cell that has caught
 * up. Ordered rows never are: an accept on another node may have come first.
 */
final class Dispatcher {
  /**
   * The settings that the dispatcher gets from its inbox.
   *
   * @param loadBytes how much content a load brings at most
   */
  record Settings(
      int batchSize, int maxCrashes, Duration pollMin, Duration pollMax, long loadBytes) {}

  private static final Logger LOG = LoggerFactory.getLogger(Dispatcher.class);

  private final Deliveries store;
  private final Events events;
  private final Settings settings;
  private final Node node;
  private final InstantSource clock;
  private final HandlerLines lines;
  private final OpenRows open;
  private final Reads reads;
  private final OrderedKeys keys;
  private final Loader loader;
  private final OwnedCells cells = new OwnedCells(this::shareRates);
  private final Suspects suspects;
  private final Probation probation;
  private final Mail mail;
  private final Mail.WakeUp wakeUp;
  private final Mail.WakeUp lookUp;
  private final Mail.WakeUp slotFree;

  /** The place of what comes in without a priority at this turn. */
  private long normal;

  /** Whether nothing might start at the last turn. */
  private boolean kept;

  private volatile boolean stopped;

  Dispatcher(
      Deliveries store,
      Settler settler,
      Endings endings,
      Events events,
      Settings settings,
      Node node,
      InstantSource clock,
      HandlerLines lines,
      OpenSet openSet) {
    this.store = store;
    this.mail = new Mail(settings.loadBytes());
    this.wakeUp = mail.wakeUp(this::wakeReads);
    this.lookUp = mail.wakeUp(this::lookNow);
    this.slotFree = mail.wakeUp(() -> {}); // each turn looks at what the slots may begin
    this.events = events;
    this.settings = settings;
    this.node = node;
    this.clock = clock;
    this.lines = lines;
    this.open = new OpenRows(openSet, cells, lines);
    this.suspects = new Suspects(settings.maxCrashes(), this::nothingRuns, System::nanoTime);
    this.probation = new Probation(lines, cells, suspects);
    this.reads = new Reads(store, settings, cells.all(), lines::of, System::nanoTime);
    this.keys =
        new OrderedKeys(
            store, lines.all(), new KeyedRows(lines, cells, open, reads, settler, this::admit));
    this.loader =
        new Loader(store, endings, node, settings, lines, cells, open, this::gone, this::notOurs);
  }

  // ---- mail, from any thread

  /** Leaves a piece of news for the dispatcher's thread. */
  void post(Runnable news) {
    mail.post(news);
  }

  void wake() {
    wakeUp.post();
  }

  /** Lets the next turn see that a slot of a handler with a rate has become free. */
  void slotFree() {
    slotFree.post();
  }

  private void wakeReads() {
    reads.wake();
  }

  /** Lets the next turn look behind the cursors, too. */
  void lookSoon() {
    lookUp.post();
  }

  /**
   * Offers what this process has accepted. If that is too much to remember it is read, like what
   * other nodes accept.
   */
  void offer(long ticket, Collection<HandOver> accepted) {
    if (!mail.offer(accepted, () -> handOver(ticket, accepted))) {
      open.returnTicket(ticket);
      wake();
    }
  }

  Set<Cell> owned() {
    return cells.staying();
  }

  Set<Cell> leaving() {
    return cells.leaving();
  }

  Set<Cell> busy() {
    return open.busy();
  }

  /** While true no slot may start anything: a suspect runs alone. */
  boolean quiet() {
    return suspects.quiet();
  }

  void begun(Delivery row) {
    open.begun(row);
  }

  /** Called by slots. */
  boolean hasBegun(Delivery row) {
    return open.hasBegun(row);
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
    normal = Priority.normal(clock.instant()); // before the mail: it may throw, and news comes once
    long wait = waiting ? nanosUntilNext(System.nanoTime()) : 0;
    Runnable first = wait > 0 ? mail.poll(wait) : mail.poll();
    if (first != null) {
      first.run();
      for (Runnable next = mail.poll(); next != null; next = mail.poll()) {
        next.run();
      }
    }
    kept = stopped || !node.mayStart();
    if (kept) {
      if (waiting && first == null && wait <= 0) {
        TimeUnit.MILLISECONDS.sleep(10); // nothing may start, so nothing is worth a busy loop
      }
      cells.giveBackWhatIsIdle(node);
      return;
    }
    poll();
    keys.refill();
    if (reads.sweptNow()) {
      keys.lookAgainAtWaiting();
    }
    runSuspect(); // before the load, for it tells when the others may go on
    load();
    cells.endProbations(node);
    cells.giveBackWhatIsIdle(node);
    lines.wakeWorkers();
  }

  private void poll() {
    long began = System.nanoTime();
    Object flight = FlightRecords.beginPoll();
    reads.turn(began, this::take);
    if (!reads.askedNow()) {
      return;
    }
    if (flight != null) {
      FlightRecords.endPoll(flight, events.inbox(), reads.takenNow());
    }
    if (!events.silent()) {
      Duration took = Duration.ofNanos(System.nanoTime() - began);
      events.tell(new InboxEvent.Polled(events.inbox(), reads.takenNow(), took));
    }
  }

  private long nanosUntilNext(long now) {
    long nextRead = keys.hungry() ? 0 : reads.nanosUntilNext(now);
    return Math.min(nextRead, lines.nanosUntilNext(now, quiet()));
  }

  /** Whether the last turn could not look for work, because the node may start nothing. */
  boolean wasKeptFromStarting() {
    return kept;
  }

  boolean hasMail() {
    return !mail.isEmpty();
  }

  /** Looks at everything at once: used when driven by hand. */
  void lookNow() {
    reads.lookNow();
  }

  /** Lets the next look go further through what is due. */
  void walkNow() {
    reads.walkNow();
  }

  /** Lets the next turn run a suspect, if one waits for the other deliveries. */
  boolean trySuspectNow() {
    return suspects.tryNow();
  }

  /** Whether more is due than any look has passed so far. */
  boolean canWalk() {
    return reads.canWalk();
  }

  /** Whether a sweep has not come to its end. */
  boolean sweepsOn() {
    return reads.sweepsOn();
  }

  /** Whether the last look went further, and not to the end. */
  boolean walksOn() {
    return reads.walksOn();
  }

  /**
   * Begins anew after a failure in the middle of a turn, which may have left a row anywhere: only
   * what slots and settler have is remembered, everything else is read again. Mail is kept, for
   * each piece of news comes once.
   */
  void reset() {
    for (HandlerLine line : lines.all()) {
      line.reset().forEach(work -> open.takeBack(work.delivery()));
    }
    suspects.reset(open.handed());
    probation.reset(open.handed());
    open.reset();
    reads.wake();
  }

  // ---- cells

  void cellsTaken(List<CellRow> rows) {
    List<CellState> taken = new ArrayList<>();
    for (CellRow row : rows) {
      HandlerLine line = lines.of(row.cell());
      // So many may have run before the one that killed, and not been settled.
      int probation = row.unclean() ? 10 * line.slots + line.capacity : 0;
      taken.add(new CellState(row, probation));
    }
    cells.take(taken, open.handed());
    if (stopped) {
      cells.leaveAll(); // taken just before the others heard of the stop: nobody asks for them
    }
    reads.wake();
  }

  void cellsWanted(List<Cell> wanted) {
    cells.leave(wanted);
    dropOwned(wanted);
    cells.giveBackWhatIsIdle(node);
  }

  void cellsUnwanted(List<Cell> unwanted) {
    if (!stopped) {
      cells.stay(unwanted);
      reads.wake();
    }
  }

  void cellsGone(List<Cell> gone) {
    dropOwned(gone);
    cells.remove(gone); // only now: what is dropped counts where it was counted
  }

  void cellsLost() {
    dropEverything();
    cells.clear();
  }

  private void shareRates() {
    lines.shareRates(cells.all());
  }

  /** What has not begun of a paused handler is given up here, and read again when it goes on. */
  void paused(Set<Integer> families) {
    lines.paused(families, this::dropUnstarted, reads::wake);
  }

  // ---- rows coming in

  /** Answers how many of the rows are open from now on and were not before. */
  private int take(List<Delivery> rows) {
    int before = open.size();
    List<Delivery> ordered = new ArrayList<>();
    for (Delivery row : rows) {
      CellState cell = cells.get(row.cell());
      if (cell == null || cell.leaving || !fits(row) || !open.open(cell, row)) {
        continue;
      }
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
    return row.place() == 0 || lines.of(row.cell()).takesPlaced(row.place(), normal);
  }

  /** To be run as soon as it is loaded; suspects wait until nothing else runs. */
  private void admit(Delivery row) {
    HandlerLine line = lines.of(row.cell());
    line.entered(row);
    if (row.mark() != 0 && node.died(row.mark())) {
      suspects.add(row);
    } else {
      line.waits(row, normal);
    }
  }

  // ---- handing out

  /** Loads payloads for what waits, in one statement, and gives it to the slots. */
  private void load() {
    if (quiet()) {
      return;
    }
    List<Delivery> rows = lines.begin(settings.batchSize(), probation::admits);
    if (rows.isEmpty()) {
      return;
    }
    for (Work work : loader.load(rows, normal)) {
      open.hand(work.delivery());
      lines.of(work.delivery().cell()).enqueue(work);
    }
    lines.wakeWorkers();
  }

  private boolean nothingRuns() {
    return open.noneBegun() && lines.nothingRuns();
  }

  private void runSuspect() {
    Delivery row = suspects.next();
    Work work = row == null ? null : loader.loadAlone(row, normal);
    if (work != null) {
      lines.of(work.delivery().cell()).runAlone(work);
      open.hand(work.delivery());
    }
  }

  // ---- what came of it

  void settled(List<Settled> results) {
    for (int i = 0; i < results.size(); i++) {
      try {
        settled(results.get(i));
      } catch (RuntimeException | Error e) {
        List<Settled> rest = results.subList(i + 1, results.size());
        post(() -> settled(rest));
        throw e;
      }
    }
    reads.roomMade();
  }

  /**
   * Their attempts are over, but their outcomes are not recorded yet. So no suspect has to wait for
   * them, and none of them is a suspect.
   *
   * @param lasting whether they may stay so for long; then others on probation may begin, and their
   *     cells can be given back without them: the next owner runs them once more, instead of the
   *     whole cell waiting for them
   */
  void settlesLater(List<Delivery> rows, boolean lasting) {
    for (Delivery row : rows) {
      open.settlesLater(row);
      suspects.ended(row);
      if (lasting) {
        probation.ended(row);
        cells.closed(row);
      }
    }
  }

  private void settled(Settled result) {
    Delivery row = result.settlement().delivery();
    Outcome outcome = result.settlement().outcome();
    HandlerLine line = lines.of(row.cell());
    open.settled(row);
    suspects.ended(row);
    probation.ended(row);
    if (result.refused()) {
      events.tell(new InboxEvent.Refused(events.inbox(), line.handler.key(), row.seq()));
    } else if (outcome instanceof Outcome.RetryAfter retry) {
      reads.dueIn(retry.delay());
    } else if (outcome instanceof Outcome.LaterUncounted later) {
      reads.dueIn(later.delay());
    } else if (outcome instanceof Outcome.Uncounted later) {
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
          open.isHanded(row)
              && cells.contains(row.cell())
              && store.mark(List.of(row), node.incarnation(), false).complete();
    } catch (StoreException e) {
      LOG.debug("Check for blocking rows failed: delivery={}", row, e);
    } finally {
      answer.accept(free);
    }
  }

  /** The row is gone or has changed: somebody else has settled it. */
  private void gone(Delivery row) {
    settled(new Settled(new Settlement(row, new Outcome.Completed()), true));
  }

  // ---- hand-over of local accepts

  private void handOver(long ticket, Collection<HandOver> accepted) {
    boolean any = false;
    try {
      boolean valid = open.isValid(ticket);
      for (HandOver each : accepted) {
        any |= handOver(each, valid);
      }
      if (!valid && !accepted.isEmpty()) {
        reads.sweepSoon(); // the reader may be past its numbers
      }
    } finally {
      open.returnTicket(ticket);
      if (any) {
        lines.wakeWorkers();
      }
    }
  }

  /**
   * Answers whether a slot can begin with it.
   *
   * @param valid whether it cannot have been read and settled already
   */
  private boolean handOver(HandOver each, boolean valid) {
    CellState cell = cells.get(each.row().cell());
    if (cell == null || cell.leaving) {
      return false;
    }
    HandlerLine line = lines.of(each.row().cell());
    boolean placed = each.row().place() != 0;
    if (!fits(each.row())) {
      reads.leftBehind(line);
      return false;
    }
    boolean direct =
        valid
            && (placed || (cell.caughtUp && line.room() > 0))
            && cell.probation == 0
            && !keys.orders(each.row())
            && !quiet()
            && !stopped
            && node.mayStart();
    if (each.row().late() && !placed) {
      reads.dueIn(Duration.ZERO); // which tells when its time comes
    } else if (!direct || !line.begins()) {
      if (placed) {
        reads.placedSoon();
      } else {
        reads.wake(cell);
      }
    } else if (open.open(cell, each.row())) {
      line.entered(each.row());
      open.hand(each.row());
      long place = Priority.place(each.row(), each.message(), normal);
      line.enqueue(new Work(each.row(), each.message(), null, cell.token, cell.owner, place));
      return true;
    }
    return false;
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
    HandlerLine line = lines.of(cell);
    dropUnstarted(line, cell::equals);
    suspects.withdraw(row -> row.cell().equals(cell)).forEach(this::forgetUnstarted);
    keys.drop(line, cell);
  }

  private void dropEverything() {
    lines.all().forEach(this::dropUnstarted);
    suspects.quietOnlyForTheRunning();
  }

  private void dropUnstarted(HandlerLine line) {
    dropUnstarted(line, any -> true);
    suspects.withdraw(row -> lines.of(row.cell()) == line).forEach(this::forgetUnstarted);
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
    open.drop(row);
    suspects.ended(row);
    probation.ended(row);
    keys.left(row);
  }
}
