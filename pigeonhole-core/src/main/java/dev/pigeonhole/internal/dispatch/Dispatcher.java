package dev.pigeonhole.internal.dispatch;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.Failure;
import dev.pigeonhole.MessageRef;
import dev.pigeonhole.event.InboxEvent;
import dev.pigeonhole.internal.registry.BoundHandler;
import dev.pigeonhole.internal.rescue.Node;
import dev.pigeonhole.store.Ahead;
import dev.pigeonhole.store.AheadRead;
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
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Decides what runs next on this node.
 *
 * <p>One thread owns all of its state: cells with their cursors, rows waiting to be loaded,
 * ordering keys, suspects. Everything else reaches it as mail: settles that have committed, accepts
 * that can be handed over, cells gained and lost. So there are no locks to reason about, and the
 * same code runs without any thread at all when an inbox is driven by hand.
 *
 * <p>A turn reads what the handlers have room for ({@link Reads}), puts ordered rows into their key
 * lines, marks rows of cells on probation, loads payloads and hands work to the slots.
 *
 * <p><b>Order.</b> A row of an ordering key runs when it is the lowest open one of its key. Rows of
 * lower numbers can become visible after it was read (their commit was late), but any row that must
 * come before it had been committed before it was even accepted; so one question to the database
 * when the row is first seen ({@link Deliveries#ahead}) finds them all. Ordered rows are never
 * handed over directly: an accept on another node may have come first.
 *
 * <p><b>Crashes.</b> Rows of a cell whose owner died are marked before they are dispatched. A row
 * found marked by a dead incarnation is a suspect: it runs alone, so that if the process dies again
 * the mark tells who did it.
 */
public final class Dispatcher {
  private static final Logger LOG = LoggerFactory.getLogger(Dispatcher.class);
  private static final int MAX_PARKED_PER_CAPACITY = 20;
  private static final int AHEAD_AT_ONCE = 100;
  private static final long QUIET_AT_MOST = Duration.ofSeconds(30).toNanos();

  /** What the dispatcher is told about its inbox. */
  public record Settings(int batchSize, int maxCrashes, Duration pollMin, Duration pollMax) {}

  private final Deliveries store;
  private final Settler settler;
  private final Events events;
  private final Settings settings;
  private final InstantSource clock;
  private final Node node;
  private final Map<Integer, HandlerLine> lines;
  private final List<HandlerLine> distinctLines;
  private final OpenSet open;
  private final Reads reads;
  private final LinkedBlockingQueue<Runnable> mail = new LinkedBlockingQueue<>();

  private final Map<Cell, CellState> cells = new LinkedHashMap<>();

  /** Where each open row was counted: a cell can be lost and taken anew while a row still runs. */
  private final Map<Delivery, CellState> homes = new HashMap<>();

  private final List<Delivery> suspects = new ArrayList<>();
  private final Set<CellState> probationOver = new HashSet<>();

  /** Rows that a slot has begun and whose end is not written yet. */
  private final Set<Delivery> begun = ConcurrentHashMap.newKeySet();

  /** Rows that slots or the settler have: news of each will come. Survives a reset. */
  private final Set<Delivery> handed = new HashSet<>();

  private volatile boolean quiet;
  private volatile boolean stopped;
  private @Nullable Delivery alone;
  private long aloneSince;
  private long quietSince;
  private long quietAgain = System.nanoTime();

  // Copies for the node's thread.
  private volatile Set<Cell> owned = Set.of();
  private volatile Set<Cell> leaving = Set.of();

  Dispatcher(
      Deliveries store,
      Settler settler,
      Events events,
      Settings settings,
      InstantSource clock,
      Node node,
      Map<Integer, HandlerLine> lines,
      OpenSet open) {
    this.store = store;
    this.settler = settler;
    this.events = events;
    this.settings = settings;
    this.clock = clock;
    this.node = node;
    this.lines = lines;
    this.distinctLines = List.copyOf(new HashSet<>(lines.values()));
    this.open = open;
    this.reads = new Reads(store, settings, cells.values(), this::line);
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
    return owned;
  }

  Set<Cell> leaving() {
    return leaving;
  }

  boolean quiet() {
    return quiet;
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
          cells.values().forEach(cell -> cell.leaving = true);
          ownedChanged();
        });
  }

  // ---- the dispatcher's thread from here on

  /** Waits for news at most until the next read is due, then does everything that can be done. */
  void turn(boolean waiting) throws InterruptedException {
    long wait = waiting ? reads.nanosUntilNext(System.nanoTime()) : 0;
    Runnable first = wait > 0 ? mail.poll(wait, TimeUnit.NANOSECONDS) : mail.poll();
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
      giveBackWhatIsIdle();
      return;
    }
    reads.turn(System.nanoTime(), this::take);
    if (reads.sweptNow()) {
      lookAgainAtWaitingKeys();
    }
    runSuspects();
    load();
    endProbations();
    giveBackWhatIsIdle();
    distinctLines.forEach(HandlerLine::wakeWorkers);
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
      line.withdraw(null).forEach(work -> handed.remove(work.delivery()));
      line.ready.clear();
      line.keys.clear();
      line.occupancy = 0;
      line.parked = 0;
    }
    suspects.clear();
    open.retain(handed);
    homes.clear();
    for (Delivery row : handed) {
      line(row.cell()).occupancy++;
    }
    for (CellState cell : cells.values()) {
      cell.cursor = 0;
      cell.caughtUp = false;
      countOpen(cell);
    }
    if (alone != null && !handed.contains(alone)) {
      alone = null;
    }
    quiet = alone != null;
    quietSince = 0;
    reads.wake();
  }

  private void countOpen(CellState cell) {
    cell.open = 0;
    cell.late = 0;
    for (Delivery row : handed) {
      if (row.cell().equals(cell.cell)) {
        opened(cell, row);
      }
    }
  }

  // ---- cells

  void cellsTaken(List<CellRow> rows) {
    for (CellRow row : rows) {
      HandlerLine line = line(row.cell());
      int probation = row.unclean() ? 10 * line.slots + settings.batchSize() : 0;
      if (!cells.containsKey(row.cell())) {
        CellState state = new CellState(row.cell(), row.token(), probation);
        countOpen(state); // attempts from before it was lost may still run
        cells.put(row.cell(), state);
      }
    }
    ownedChanged();
    reads.wake();
  }

  void cellsWanted(List<Cell> wanted) {
    for (Cell cell : wanted) {
      CellState state = cells.get(cell);
      if (state != null) {
        state.leaving = true;
        drop(cell);
      }
    }
    ownedChanged();
    giveBackWhatIsIdle();
  }

  void cellsGone(List<Cell> gone) {
    for (Cell cell : gone) {
      if (cells.containsKey(cell)) {
        drop(cell);
        cells.remove(cell);
      }
    }
    ownedChanged();
  }

  void cellsLost() {
    dropEverything();
    cells.clear();
    ownedChanged();
  }

  private void giveBackWhatIsIdle() {
    List<Cell> done = new ArrayList<>();
    for (CellState state : cells.values()) {
      if (state.leaving && state.open <= 0) {
        done.add(state.cell);
      }
    }
    if (!done.isEmpty()) {
      node.giveBack(done); // before it is forgotten here, or the node would adopt it again
      done.forEach(cells::remove);
      ownedChanged();
    }
  }

  private void endProbations() {
    if (probationOver.isEmpty()) {
      return;
    }
    List<Cell> over = probationOver.stream().map(state -> state.cell).toList();
    probationOver.clear();
    node.markClean(over);
  }

  private void ownedChanged() {
    Set<Cell> staying = new HashSet<>();
    Set<Cell> going = new HashSet<>();
    for (CellState state : cells.values()) {
      (state.leaving ? going : staying).add(state.cell);
    }
    owned = Set.copyOf(staying);
    leaving = Set.copyOf(going);
  }

  private HandlerLine line(Cell cell) {
    HandlerLine line = lines.get(cell.handler());
    if (line == null) {
      throw new IllegalStateException("no handler for " + cell);
    }
    return line;
  }

  // ---- rows coming in

  private void take(List<Delivery> rows) {
    List<Delivery> ordered = new ArrayList<>();
    for (Delivery row : rows) {
      CellState cell = cells.get(row.cell());
      if (cell == null || cell.leaving || !open.offer(row)) {
        continue;
      }
      opened(cell, row);
      if (!isOrdered(row)) {
        admit(row);
      } else {
        ordered.add(row);
      }
    }
    if (!ordered.isEmpty()) {
      order(ordered);
    }
  }

  private void opened(CellState cell, Delivery row) {
    homes.put(row, cell);
    cell.open++;
    if (row.late()) {
      cell.late++;
    }
  }

  private void closed(Delivery row) {
    CellState cell = homes.remove(row);
    if (cell != null) {
      cell.open--;
      if (row.late()) {
        cell.late--;
      }
    }
  }

  /** To be run as soon as it is loaded; suspects wait until nothing else runs. */
  private void admit(Delivery row) {
    HandlerLine line = line(row.cell());
    line.occupancy++;
    if (row.mark() != 0 && node.died(row.mark())) {
      suspects.add(row);
    } else {
      line.ready.add(row);
    }
  }

  private void order(List<Delivery> rows) {
    Map<KeyName, Delivery> highest = new LinkedHashMap<>();
    for (Delivery row : rows) {
      highest.merge(KeyName.of(row), row, (one, other) -> one.seq() > other.seq() ? one : other);
    }
    AheadRead ahead = ahead(highest.values().stream().map(Dispatcher::question).toList());
    for (Delivery row : ahead.open()) {
      joinFromAhead(row);
    }
    Set<Ahead> blocked = blockedRows(rows, ahead);
    List<Delivery> behindPoison = new ArrayList<>();
    for (Delivery row : rows) {
      if (blocked.contains(question(row))) {
        behindPoison.add(row);
      } else {
        join(row);
      }
    }
    behindPoison.forEach(this::block);
    for (Map.Entry<KeyName, Delivery> each : highest.entrySet()) {
      HandlerLine line = line(each.getValue().cell());
      KeyLine key = line.keys.get(each.getKey().hash());
      if (key != null) {
        advance(line, each.getKey().hash(), key);
      }
    }
  }

  /** A key that is blocked for its highest row need not be for its lower ones: ask for each. */
  private Set<Ahead> blockedRows(List<Delivery> rows, AheadRead ahead) {
    if (ahead.blocked().isEmpty()) {
      return Set.of();
    }
    Set<KeyName> keys = new HashSet<>();
    for (Ahead question : ahead.blocked()) {
      keys.add(new KeyName(question.cell(), question.keyHash()));
    }
    List<Ahead> questions = new ArrayList<>();
    for (Delivery row : rows) {
      if (keys.contains(KeyName.of(row))) {
        questions.add(question(row));
      }
    }
    return ahead(questions).blocked();
  }

  /**
   * In parts: some databases answer with one select per key, and their parsers are not bottomless.
   */
  private AheadRead ahead(List<Ahead> questions) {
    List<Delivery> rows = new ArrayList<>();
    Set<Ahead> blocked = new HashSet<>();
    for (int from = 0; from < questions.size(); from += AHEAD_AT_ONCE) {
      int to = Math.min(from + AHEAD_AT_ONCE, questions.size());
      AheadRead part = store.ahead(questions.subList(from, to));
      rows.addAll(part.open());
      blocked.addAll(part.blocked());
    }
    return new AheadRead(rows, blocked);
  }

  private record KeyName(Cell cell, long hash) {
    static KeyName of(Delivery row) {
      return new KeyName(row.cell(), Dispatcher.hash(row));
    }
  }

  private boolean isOrdered(Delivery row) {
    return row.keyHash() != null && !line(row.cell()).handler.spec().unordered();
  }

  private static long hash(Delivery row) {
    Long hash = row.keyHash();
    return hash == null ? 0 : hash;
  }

  private static Ahead question(Delivery row) {
    return new Ahead(row.cell(), hash(row), row.seq());
  }

  /** A row the database says stands ahead: fresh ones came late, others wait for their time. */
  private void joinFromAhead(Delivery row) {
    CellState cell = cells.get(row.cell());
    HandlerLine line = line(row.cell());
    if (cell == null || cell.leaving) {
      return;
    }
    if (row.late() || open.contains(row)) {
      // Open but in no line: it is still running from before its line was dropped.
      line.keys
          .computeIfAbsent(hash(row), none -> new KeyLine())
          .members
          .putIfAbsent(row.seq(), new KeyLine.Member(row, false));
    } else if (open.offer(row)) {
      opened(cell, row);
      join(row);
    }
  }

  private void join(Delivery row) {
    HandlerLine line = line(row.cell());
    KeyLine key = line.keys.computeIfAbsent(hash(row), none -> new KeyLine());
    KeyLine.Member before = key.members.put(row.seq(), new KeyLine.Member(row, true));
    if (before == null || !before.runnable()) {
      line.parked++;
    }
    if (line.parked > line.capacity * MAX_PARKED_PER_CAPACITY
        && key.members.lastKey() == row.seq()
        && key.members.size() > 1) {
      forget(line, key, row); // a sweep, or the question for a later row, finds it again
    }
  }

  private void forget(HandlerLine line, KeyLine key, Delivery row) {
    key.members.remove(row.seq());
    line.parked--;
    open.dropped(row);
    closed(row);
  }

  private void advance(HandlerLine line, long hash, KeyLine key) {
    Delivery next = key.next();
    if (next != null) {
      key.running = next;
      line.parked--;
      admit(next);
    } else if (key.members.isEmpty() && key.running == null) {
      line.keys.remove(hash);
    }
  }

  /** Nothing of the key runs until its poisoned head is settled: the row waits without a time. */
  private void block(Delivery row) {
    line(row.cell()).occupancy++;
    handed.add(row);
    settler.add(new Settlement(row, new Outcome.Blocked(null)), null);
  }

  /**
   * Somebody else may have settled a head that a key waits for: an operator, or a node that took
   * over for a while. What the database no longer knows is forgotten.
   */
  private void lookAgainAtWaitingKeys() {
    Map<Ahead, KeyLine> waiting = new HashMap<>();
    for (HandlerLine line : distinctLines) {
      for (KeyLine key : line.keys.values()) {
        if (key.waitsForHead()) {
          waiting.put(question(key.members.lastEntry().getValue().row()), key);
        }
      }
    }
    if (waiting.isEmpty()) {
      return;
    }
    AheadRead ahead = ahead(List.copyOf(waiting.keySet()));
    Set<Long> stillThere = new HashSet<>();
    ahead.open().forEach(row -> stillThere.add(row.seq()));
    waiting.forEach(
        (question, key) -> {
          key.members
              .values()
              .removeIf(each -> !each.runnable() && !stillThere.contains(each.row().seq()));
          advance(line(question.cell()), question.keyHash(), key);
        });
  }

  // ---- handing out

  /** Loads payloads for what waits, in one statement, and gives it to the slots. */
  private void load() {
    if (quiet) {
      return;
    }
    List<Delivery> rows = new ArrayList<>();
    for (HandlerLine line : distinctLines) {
      for (int i = 0; i < settings.batchSize() && !line.ready.isEmpty(); i++) {
        rows.add(line.ready.remove());
      }
    }
    if (rows.isEmpty()) {
      return;
    }
    List<Delivery> marked = markIfOnProbation(rows);
    for (Work work : works(marked, false)) {
      handed.add(work.delivery());
      line(work.delivery().cell()).enqueue(work);
    }
    distinctLines.forEach(HandlerLine::wakeWorkers);
  }

  private List<Delivery> markIfOnProbation(List<Delivery> rows) {
    List<Delivery> toMark = new ArrayList<>();
    for (Delivery row : rows) {
      CellState cell = cells.get(row.cell());
      if (cell != null && cell.probation > 0) {
        toMark.add(row);
        if (--cell.probation == 0) {
          probationOver.add(cell);
        }
      }
    }
    if (toMark.isEmpty()) {
      return rows;
    }
    Set<Delivery> gone = store.mark(toMark, node.incarnation(), false);
    if (gone.isEmpty()) {
      return rows;
    }
    gone.forEach(this::gone);
    return rows.stream().filter(row -> !gone.contains(row)).toList();
  }

  private List<Work> works(List<Delivery> rows, boolean runAlone) {
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
        MessageRef gone = new MessageRef("", "#" + row.seq());
        poison(
            row, gone, ErrorCode.PAYLOAD_MISSING_MESSAGE, "The message of this delivery is gone.");
      } else {
        long token = cell == null ? 0 : cell.token;
        works.add(new Work(row, message, failures.get(row), token, runAlone));
      }
    }
    return works;
  }

  private void poison(Delivery row, MessageRef message, ErrorCode code, String text) {
    Failure failure = Failures.of(code, text, clock.instant());
    String handler = line(row.cell()).handler.key();
    handed.add(row);
    settler.add(
        new Settlement(row, new Outcome.Poisoned(failure, false)),
        () ->
            events.tell(
                new InboxEvent.Poisoned(events.inbox(), handler, message, row.attempt(), failure)));
  }

  /** One suspect at a time, nothing beside it, in random order. */
  private void runSuspects() {
    if (!quiet && !suspects.isEmpty() && System.nanoTime() - quietAgain >= 0) {
      quiet = true;
    }
    if (alone != null && quiet && System.nanoTime() - aloneSince > QUIET_AT_MOST) {
      alone = null; // it takes its time, and has not taken the process with it
      goOn();
    }
    if (!quiet || alone != null) {
      return;
    }
    if (suspects.isEmpty()) {
      quiet = false;
      quietSince = 0;
      load();
      distinctLines.forEach(HandlerLine::wakeWorkers);
      return;
    }
    if (!begun.isEmpty() || !distinctLines.stream().allMatch(HandlerLine::resting)) {
      giveUpQuietForNow(); // else the end of each is news, which brings the next turn
      return;
    }
    Delivery row = suspects.remove(ThreadLocalRandom.current().nextInt(suspects.size()));
    aloneSince = System.nanoTime();
    if (row.crashes() >= settings.maxCrashes()) {
      alone = row;
      LOG.warn("Delivery {} took its process with it {} times and is poisoned", row, row.crashes());
      BoundHandler handler = line(row.cell()).handler;
      StoredMessage message = store.load(List.of(row.seq())).get(row.seq());
      poison(
          row,
          message == null
              ? new MessageRef("", "#" + row.seq())
              : new MessageRef(message.source(), message.id()),
          ErrorCode.HANDLER_CRASHED,
          "Handler '%s' ended its process %d times while it ran alone with this message."
              .formatted(handler.keyOf(row.keyId()), row.crashes()));
      return;
    }
    alone = row;
    for (Work work : works(List.of(row), true)) {
      if (store.mark(List.of(row), node.incarnation(), true).contains(row)) {
        gone(row);
      } else {
        line(row.cell()).runAlone(work);
        handed.add(row);
      }
    }
  }

  /** An attempt that takes for ever must not keep a whole node quiet for a suspect's sake. */
  private void giveUpQuietForNow() {
    long now = System.nanoTime();
    if (quietSince == 0) {
      quietSince = now;
    } else if (now - quietSince > QUIET_AT_MOST) {
      goOn();
    }
  }

  private void goOn() {
    quietSince = 0;
    quietAgain = System.nanoTime() + QUIET_AT_MOST;
    quiet = false;
    load();
    distinctLines.forEach(HandlerLine::wakeWorkers);
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
      closed(row);
      line.occupancy--;
    }
    ended(row);
    if (result.refused()) {
      events.tell(new InboxEvent.Refused(events.inbox(), line.handler.key(), row.seq()));
    } else if (outcome instanceof Outcome.RetryAfter retry) {
      reads.dueIn(retry.delay());
    } else if (outcome instanceof Outcome.LaterUncounted later) {
      reads.dueIn(later.delay());
    }
    if (isOrdered(row)) {
      settledInKey(line, row, outcome, result.refused());
    }
  }

  private void settledInKey(HandlerLine line, Delivery row, Outcome outcome, boolean refused) {
    long hash = hash(row);
    KeyLine key = line.keys.get(hash);
    if (key == null) {
      return;
    }
    if (refused) {
      dropKey(line, hash, key);
      return;
    }
    if (outcome instanceof Outcome.Blocked) {
      advance(line, hash, key);
      return;
    }
    boolean known = row.equals(key.running);
    key.ended(row);
    KeyLine.Member member = key.members.get(row.seq());
    if (member != null && member.row().version() > row.version()) {
      line.parked += known ? 1 : 0; // it has come back as due before the news of its failure
    } else {
      key.members.remove(row.seq());
      waitOrBlock(line, key, row, outcome);
    }
    advance(line, hash, key);
  }

  private void waitOrBlock(HandlerLine line, KeyLine key, Delivery row, Outcome outcome) {
    if (outcome instanceof Outcome.Poisoned) {
      List<Delivery> followers = new ArrayList<>();
      for (KeyLine.Member member : key.members.values()) {
        if (member.runnable()) {
          followers.add(member.row());
        }
      }
      for (Delivery follower : followers) {
        key.members.remove(follower.seq());
        line.parked--;
        block(follower);
      }
    } else if (!(outcome instanceof Outcome.Completed)) {
      // It waits in later; the key stays closed until it has come back as due.
      key.members.put(row.seq(), new KeyLine.Member(row, false));
    }
  }

  /** Somebody else works on this key: forget what we think its order is, and read it again. */
  private void dropKey(HandlerLine line, long hash, KeyLine key) {
    line.keys.remove(hash);
    for (KeyLine.Member member : key.members.values()) {
      Delivery row = member.row();
      if (member.runnable() && !row.equals(key.running)) {
        if (key.running == null || key.running.seq() != row.seq()) {
          line.parked--; // else it is the running one's next attempt, which was never counted
        }
        open.dropped(row);
        closed(row);
        rewind(row);
      }
    }
  }

  /** The row is not ours to run: locked or settled by another, or its commit is in doubt. */
  void notOurs(Delivery row) {
    HandlerLine line = line(row.cell());
    if (open.dropped(row)) {
      closed(row);
      line.occupancy--;
    }
    ended(row);
    if (isOrdered(row)) {
      KeyLine key = line.keys.get(hash(row));
      if (key != null) {
        key.leave(row);
        dropKey(line, hash(row), key);
      }
    }
    rewind(row);
    reads.roomMade();
  }

  /** The row is gone or has changed: somebody else has settled it. */
  private void gone(Delivery row) {
    settled(new Settled(new Settlement(row, new Outcome.Completed()), true));
  }

  private void ended(Delivery row) {
    begun.remove(row);
    handed.remove(row);
    if (row.equals(alone)) {
      alone = null;
    }
  }

  /** Makes the next sweep, rather than the cursor, find the row again. */
  private void rewind(Delivery row) {
    reads.sweepSoon();
  }

  // ---- hand-over of local accepts

  /** A message that this process has just accepted. */
  public record HandOver(Delivery row, StoredMessage message) {}

  void handOver(long ticket, Collection<HandOver> accepted) {
    boolean any = false;
    for (HandOver each : accepted) {
      CellState cell = cells.get(each.row().cell());
      if (cell == null || cell.leaving) {
        continue;
      }
      HandlerLine line = line(each.row().cell());
      boolean direct =
          cell.caughtUp
              && cell.probation == 0
              && !isOrdered(each.row())
              && line.room() > 0
              && !quiet
              && !stopped
              && node.mayStart();
      if (each.row().late()) {
        reads.dueIn(Duration.ZERO); // which tells when its time comes
      } else if (!direct) {
        reads.wake(cell);
      } else if (open.offer(each.row())) {
        opened(cell, each.row());
        line.occupancy++;
        handed.add(each.row());
        line.enqueue(new Work(each.row(), each.message(), null, cell.token, false));
        any = true;
      }
    }
    open.returnTicket(ticket);
    if (any) {
      distinctLines.forEach(HandlerLine::wakeWorkers);
    }
  }

  // ---- dropping

  private void drop(Cell cell) {
    HandlerLine line = line(cell);
    for (Work work : line.withdraw(cell)) {
      forgetUnstarted(work.delivery());
    }
    for (Delivery row : List.copyOf(line.ready)) {
      if (row.cell().equals(cell)) {
        line.ready.remove(row);
        forgetUnstarted(row);
      }
    }
    for (Delivery row : List.copyOf(suspects)) {
      if (row.cell().equals(cell)) {
        suspects.remove(row);
        forgetUnstarted(row);
      }
    }
    for (Map.Entry<Long, KeyLine> each : List.copyOf(line.keys.entrySet())) {
      KeyLine key = each.getValue();
      if (key.members.values().stream().anyMatch(member -> member.row().cell().equals(cell))) {
        dropKey(line, each.getKey(), key);
      }
    }
  }

  /** Work that was queued for a slot, or taken by one that may not start it. */
  void forgetUnstarted(Delivery row) {
    HandlerLine line = line(row.cell());
    if (open.dropped(row)) {
      closed(row);
      line.occupancy--;
    }
    ended(row);
    if (isOrdered(row)) {
      KeyLine key = line.keys.get(hash(row));
      if (key != null) {
        key.leave(row);
        dropKey(line, hash(row), key);
      }
    }
    CellState cell = cells.get(row.cell());
    if (cell != null && !row.late()) {
      cell.cursor = Math.min(cell.cursor, row.seq() - 1);
      cell.caughtUp = false;
    }
  }

  private void dropEverything() {
    for (HandlerLine line : distinctLines) {
      line.withdraw(null).forEach(work -> forgetUnstarted(work.delivery()));
      for (Delivery row : List.copyOf(line.ready)) {
        line.ready.remove(row);
        forgetUnstarted(row);
      }
      for (Map.Entry<Long, KeyLine> each : List.copyOf(line.keys.entrySet())) {
        dropKey(line, each.getKey(), each.getValue());
      }
    }
    for (Delivery row : List.copyOf(suspects)) {
      suspects.remove(row);
      forgetUnstarted(row);
    }
    quiet = alone != null;
  }
}
