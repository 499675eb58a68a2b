package dev.pigeonhole.internal.dispatch;

import dev.pigeonhole.store.Cell;
import dev.pigeonhole.store.CellLimit;
import dev.pigeonhole.store.Deliveries;
import dev.pigeonhole.store.Delivery;
import dev.pigeonhole.store.DuePosition;
import dev.pigeonhole.store.DueRange;
import dev.pigeonhole.store.DueRead;
import dev.pigeonhole.store.Range;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.ToIntFunction;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Decides which rows to ask the store for, and when.
 *
 * <p>Four reads cover each other's blind spots. <em>Forward</em> goes on from each cell's cursor
 * and finds nearly everything. A row whose number was taken early and committed late lies behind
 * the cursor: the <em>look-back</em>, up to five times a second, covers the last three seconds of
 * it. What comes later still is left to the <em>sweep</em> from the start, which takes at most a
 * twentieth of the time; where much lies behind the cursor, because its ordering key has no room
 * for it, it goes on in parts, with everything else in between. <em>Due</em> reads rows that waited
 * for a time, at the time they are known to wait for; while that mostly brings back what is known
 * here, it is asked less often. None of them is asked for a handler that has no room, and each
 * costs what it returns, not what waits: dead index entries under a long snapshot lie before the
 * cursor.
 *
 * <p>Due begins with what has been due for longest each time, so that this goes on. Rows that wait
 * in an ordering key, or find no room there, stand before all that falls due after them, and there
 * may be a million of them. So where a due read was cut among ordered rows, a <em>walk</em> goes on
 * behind it, in parts and with pauses ten times as long, up to the end, and then begins again. What
 * falls due before it while it is on its way is found the next time round.
 *
 * <p>Forward goes first and may fill a handler, and so may due. A handler that was full when
 * something could be due is therefore asked for due rows as soon as it has room; before its fresh
 * rows one time and after them the next, so that neither can keep the other out.
 *
 * <p>Rows with a place of their own are read by a fifth one, the <em>placed</em>. They have room of
 * their own, too. Where nobody uses priorities it is asked as seldom as an idle inbox is polled.
 */
final class Reads {
  private static final long LOOK_BACK = Duration.ofMillis(200).toNanos();
  private static final long SWEEP = Duration.ofSeconds(5).toNanos();
  private static final long NEVER = Duration.ofHours(1).toNanos();
  private static final long SHORTEST_DUE_PAUSE = Duration.ofMillis(10).toNanos();
  private static final long LONGEST_DUE_PAUSE = Duration.ofMillis(200).toNanos();
  private static final int SHARE = 16;
  private static final int SWEEP_CHUNK = 200;

  /** Of all cells together, unless there are very many. */
  private static final int MOST_SWEPT = 4_000;

  private static final int CHUNKS_AT_ONCE = 10;

  /** More than this lies behind a cursor only where keys have no room; the sweep finds the rest. */
  private static final int MOST_LOOKED_BACK = 2_000;

  /** Of those that come back with each due read; the walk looks behind them. */
  private static final int MOST_IN_THE_WAY = 1_000;

  private static final int WALK_CHUNK = 1_000;
  private static final long LONGEST_WALK = Duration.ofMillis(20).toNanos();

  private final Deliveries store;
  private final Collection<CellState> cells;
  private final Function<Cell, HandlerLine> line;
  private final LongSupplier nanos;
  private final long pollMin;
  private final long pollMax;
  private final int batchSize;

  private final Set<CellState> woken = new LinkedHashSet<>();
  private final Set<HandlerLine> fullWhenDue = new HashSet<>();

  /** Those of which late rows went before fresh ones the last time that both wanted room. */
  private final Set<HandlerLine> lateWasFirst = new HashSet<>();

  private final Set<HandlerLine> leftBehind = new HashSet<>();
  private List<Range> sweeping = List.of();
  private boolean sweepAgain;
  private boolean looking = true;
  private boolean hungry;
  private boolean swept;
  private boolean walksOn;
  private boolean asked;
  private int taken;
  private long idlePoll;
  private long nextForward;
  private long nextLookBack;
  private long nextSweep;
  private long nextDue;
  private long nextDuePoll;
  private long sweepTook;
  private long lastSwept;
  private long noDueBefore;
  private long duePause;
  private long nextPlaced;
  private long noPlacedBefore;
  private long placedPoll;

  /**
   * @param nanos a clock that never goes back, as {@link System#nanoTime}
   */
  Reads(
      Deliveries store,
      Dispatcher.Settings settings,
      Collection<CellState> cells,
      Function<Cell, HandlerLine> line,
      LongSupplier nanos) {
    this.store = store;
    this.nanos = nanos;
    this.cells = cells;
    this.line = line;
    this.pollMin = settings.pollMin().toNanos();
    this.pollMax = settings.pollMax().toNanos();
    this.batchSize = settings.batchSize();
    this.idlePoll = pollMin;
    long now = nanos.getAsLong();
    nextForward = now;
    nextLookBack = now + LOOK_BACK;
    nextSweep = now + SWEEP;
    lastSwept = now;
    nextDue = now;
    nextDuePoll = now;
    noDueBefore = now;
    nextPlaced = now;
    noPlacedBefore = now;
    placedPoll = pollMin;
  }

  /** Something may have come in anywhere. */
  void wake() {
    looking = true;
    idlePoll = pollMin;
    dueIn(Duration.ZERO);
    placedSoon();
  }

  /** A row with a place has come in. */
  void placedSoon() {
    nextPlaced = nanos.getAsLong();
  }

  /** Rows with a place wait for this handler to have room for them. */
  void leftBehind(HandlerLine handler) {
    leftBehind.add(handler);
  }

  /** Something has come in here. */
  void wake(CellState cell) {
    woken.add(cell);
    idlePoll = pollMin;
  }

  /** Slots were freed: a handler that was full may be asked again. */
  void roomMade() {
    hungry = true;
    if (leftBehind.stream().anyMatch(HandlerLine::fewPlaced)) {
      placedSoon();
    }
  }

  void dueIn(Duration delay) {
    dueAt(nanos.getAsLong() + delay.toNanos());
  }

  private void dueAt(long at) {
    if (at - nextDue < 0) {
      nextDue = at;
    }
  }

  /** A row behind the cursor is wanted again, which only a sweep finds. */
  void sweepSoon() {
    if (!sweeping.isEmpty()) {
      sweepAgain = true; // the sweep under way may have passed it
      return;
    }
    long at = nanos.getAsLong() + Math.max(LOOK_BACK, 20 * sweepTook);
    if (at - nextSweep < 0) {
      nextSweep = at;
    }
  }

  /** Everything is due: fresh work, late work, and what was missed. */
  void lookNow() {
    long now = nanos.getAsLong();
    looking = true;
    nextDue = now;
    noDueBefore = now;
    duePause = 0;
    sweepAgain = !sweeping.isEmpty();
    nextSweep = now;
    nextPlaced = now;
    noPlacedBefore = now;
  }

  /** The walk through what is due need not wait. */
  void walkNow() {
    long now = nanos.getAsLong();
    cells.forEach(cell -> cell.noWalkBefore = now);
    walksOn = false;
  }

  /** Whether there is somebody to walk for. */
  boolean canWalk() {
    return cells.stream().anyMatch(this::walks);
  }

  /** Whether a walk of this turn has not come to its end. */
  boolean walksOn() {
    return walksOn;
  }

  /** Whether a sweep has not come to its end. */
  boolean sweepsOn() {
    return !sweeping.isEmpty();
  }

  /** Whether a sweep has come to its end, or has gone on for a while. */
  boolean sweptNow() {
    return swept;
  }

  /** Whether the store was asked for anything at this turn. */
  boolean askedNow() {
    return asked;
  }

  /** How many rows this turn has brought that were not open here. */
  int takenNow() {
    return taken;
  }

  long nanosUntilNext(long now) {
    if (looking
        || !woken.isEmpty()
        || (hungry && anyBehind())
        || fullWhenDue.stream().anyMatch(Reads::hasRoom)) {
      return 0;
    }
    long next = nextForward - now;
    next = Math.min(next, nextLookBack - now);
    next = Math.min(next, nextSweep - now);
    next = Math.min(next, untilDue(now));
    next = Math.min(next, untilPlaced(now));
    return Math.max(0, next);
  }

  private long untilPlaced(long now) {
    return Math.max(noPlacedBefore - now, nextPlaced - now);
  }

  private long untilDue(long now) {
    return Math.max(noDueBefore - now, Math.min(nextDue - now, nextDuePoll - now));
  }

  /**
   * Reads what is due now.
   *
   * @param found is given each read's rows before the next read begins, and answers how many of
   *     them were new here
   */
  void turn(long now, ToIntFunction<List<Delivery>> found) {
    swept = false;
    walksOn = false;
    asked = false;
    taken = 0;
    if (cells.isEmpty()) {
      looking = false;
      woken.clear();
      fullWhenDue.clear();
      lateWasFirst.clear();
      sweeping = List.of();
      nextForward = now + pollMax;
      nextDue = now + pollMax;
      nextDuePoll = now + pollMax;
      nextLookBack = now + pollMax;
      nextSweep = now + pollMax;
      nextPlaced = now + pollMax;
      return;
    }
    boolean wasHungry = hungry;
    hungry = false;
    dueBeforeFresh(now, found);
    if (looking || now - nextForward >= 0) {
      looking = false;
      woken.clear();
      forward(cells, now, found);
    } else if (!woken.isEmpty() || (wasHungry && anyBehind())) {
      List<CellState> some = new ArrayList<>(woken);
      woken.clear();
      for (CellState cell : cells) {
        if (!cell.caughtUp) {
          some.add(cell);
        }
      }
      forward(new LinkedHashSet<>(some), now, found);
    }
    if (untilPlaced(now) <= 0) {
      placed(now, found);
    }
    if (untilDue(now) <= 0) {
      due(now, found);
    } else {
      dueOfThese(fullWithRoomNow(), now, found);
    }
    if (now - nextLookBack >= 0) {
      lookBack(now, found);
    }
    if (now - nextSweep >= 0) {
      sweep(now, found);
    }
  }

  /** Whether some cell has more to read and its handler room for it. */
  private boolean anyBehind() {
    for (CellState cell : cells) {
      if (!cell.caughtUp && !cell.leaving && hasRoom(line.apply(cell.cell))) {
        return true;
      }
    }
    return false;
  }

  /** A quarter of its capacity: reading for less is not worth a round trip. */
  private static boolean hasRoom(HandlerLine line) {
    return line.room() * 4 >= line.capacity;
  }

  private void forward(Collection<CellState> some, long now, ToIntFunction<List<Delivery>> found) {
    Map<HandlerLine, Integer> behind = new HashMap<>();
    for (CellState cell : some) {
      if (!cell.caughtUp && !cell.leaving) {
        behind.merge(line.apply(cell.cell), 1, Integer::sum);
      }
    }
    List<Range> ranges = new ArrayList<>();
    Map<Cell, CellState> asked = new HashMap<>();
    for (CellState cell : some) {
      HandlerLine handler = line.apply(cell.cell);
      if (cell.leaving) {
        continue;
      }
      if (!hasRoom(handler)) {
        cell.caughtUp = false; // asked as soon as there is room: what has come in may wait there
        continue;
      }
      int share =
          cell.caughtUp ? SHARE : Math.max(SHARE, handler.room() / behind.getOrDefault(handler, 1));
      int limit = Math.min(share, batchSize);
      ranges.add(Range.after(cell.cell, cell.cursor, limit));
      asked.put(cell.cell, cell);
    }
    nextForward = now + idlePoll;
    if (ranges.isEmpty()) {
      return;
    }
    List<Delivery> rows = store.fresh(ranges);
    Map<Cell, Integer> counts = new HashMap<>();
    for (Delivery row : rows) {
      counts.merge(row.cell(), 1, Integer::sum);
      CellState cell = asked.get(row.cell());
      if (cell != null && row.seq() > cell.cursor) {
        cell.cursor = row.seq();
      }
    }
    for (Range range : ranges) {
      CellState cell = asked.get(range.cell());
      if (cell != null) {
        int count = counts.getOrDefault(range.cell(), 0);
        cell.caughtUp = count < range.limit();
        cell.noFresh |= count == 0 && range.after() == 0;
      }
    }
    if (rows.isEmpty()) {
      idlePoll = Math.min(pollMax, idlePoll * 2);
    } else {
      idlePoll = pollMin;
      nextForward = now + pollMin;
    }
    hungry = true; // cells that came back full are asked again at once, while there is room
    add(rows, found);
  }

  private void due(long now, ToIntFunction<List<Delivery>> found) {
    Set<HandlerLine> withRoom = new HashSet<>();
    fullWhenDue.clear();
    for (CellState cell : cells) {
      HandlerLine handler = line.apply(cell.cell);
      (hasRoom(handler) ? withRoom : fullWhenDue).add(handler);
    }
    nextDuePoll = now + pollMax;
    nextDue = now + NEVER;
    dueOfThese(withRoom, now, found);
  }

  /** Every other time, or rows that are due without end would keep back the fresh ones. */
  private void dueBeforeFresh(long now, ToIntFunction<List<Delivery>> found) {
    Set<HandlerLine> first = fullWithRoomNow();
    first.removeIf(lateWasFirst::remove);
    lateWasFirst.addAll(first);
    dueOfThese(first, now, found);
  }

  private Set<HandlerLine> fullWithRoomNow() {
    Set<HandlerLine> some = new HashSet<>(fullWhenDue);
    some.removeIf(handler -> !hasRoom(handler));
    return some;
  }

  private void dueOfThese(
      Set<HandlerLine> handlers, long now, ToIntFunction<List<Delivery>> found) {
    fullWhenDue.removeAll(handlers);
    List<DueRange> asked = new ArrayList<>();
    for (CellState cell : cells) {
      if (!cell.leaving && handlers.contains(line.apply(cell.cell))) {
        // What is open of it already comes back again, and so does what its key had no room for;
        // neither must hide what stands behind.
        int known = cell.late + Math.min(2 * cell.inTheWay, MOST_IN_THE_WAY);
        asked.add(DueRange.fromStart(cell.cell, SHARE + known));
      }
    }
    if (asked.isEmpty()) {
      return;
    }
    DueRead read = store.due(asked);
    int taken = add(read.rows(), found);
    Map<Cell, Integer> came = new HashMap<>();
    Set<Cell> keyed = new HashSet<>();
    for (Delivery row : read.rows()) {
      came.merge(row.cell(), 1, Integer::sum);
      if (row.keyHash() != null) {
        keyed.add(row.cell());
      }
    }
    for (CellState cell : cells) {
      if (handlers.contains(line.apply(cell.cell))) {
        int count = came.getOrDefault(cell.cell, 0);
        cell.inTheWay = Math.max(0, count - cell.late);
        cell.noDue |= count == 0 && !cell.leaving; // else it was not asked for
        DuePosition cut = read.cut().get(cell.cell);
        if (cut == null) {
          cell.walked = null;
        } else if (cell.walked == null && keyed.contains(cell.cell)) {
          cell.walked = cut;
        }
      }
    }
    // Rows that wait in their key, or found no room there, come back with each read.
    duePause =
        taken * 4 < read.rows().size()
            ? Math.min(LONGEST_DUE_PAUSE, Math.max(SHORTEST_DUE_PAUSE, 2 * duePause))
            : 0;
    noDueBefore = now + duePause;
    read.untilNext().ifPresent(delay -> dueAt(now + Math.max(delay.toNanos(), SHORTEST_DUE_PAUSE)));
    walk(handlers, now, found);
  }

  /** Goes on behind where the due reads of these handlers were cut. */
  private void walk(Set<HandlerLine> handlers, long now, ToIntFunction<List<Delivery>> found) {
    List<CellState> walking = new ArrayList<>();
    for (CellState cell : cells) {
      if (handlers.contains(line.apply(cell.cell)) && now - cell.noWalkBefore >= 0 && walks(cell)) {
        walking.add(cell);
      }
    }
    long began = nanos.getAsLong();
    long took = 0;
    List<CellState> next = walking;
    for (int i = 0; i < CHUNKS_AT_ONCE && took < LONGEST_WALK && !next.isEmpty(); i++) {
      DueRead read = store.due(nextChunk(next));
      for (CellState cell : next) {
        cell.walked = read.cut().get(cell.cell);
      }
      add(read.rows(), found);
      next = walking.stream().filter(this::walks).toList();
      took = nanos.getAsLong() - began;
    }
    walksOn |= !next.isEmpty();
    for (CellState cell : walking) {
      cell.noWalkBefore = now + 10 * took;
    }
  }

  /** Whether a walk is under way there and may bring something. */
  private boolean walks(CellState cell) {
    HandlerLine handler = line.apply(cell.cell);
    return cell.walked != null
        && !cell.leaving
        && !handler.handler.spec().unordered()
        && hasRoom(handler);
  }

  /** No more than a handler could keep if all of it were new here; its cells share it. */
  private List<DueRange> nextChunk(List<CellState> some) {
    Map<HandlerLine, Integer> counts = new HashMap<>();
    for (CellState cell : some) {
      counts.merge(line.apply(cell.cell), 1, Integer::sum);
    }
    List<DueRange> ranges = new ArrayList<>();
    for (CellState cell : some) {
      HandlerLine handler = line.apply(cell.cell);
      int share = Math.min(WALK_CHUNK, 2 * handler.capacity) / counts.getOrDefault(handler, 1);
      ranges.add(new DueRange(cell.cell, Math.max(SHARE, share), cell.walked));
    }
    return ranges;
  }

  private void placed(long now, ToIntFunction<List<Delivery>> found) {
    Map<HandlerLine, Integer> counts = new HashMap<>();
    for (CellState cell : cells) {
      counts.merge(line.apply(cell.cell), 1, Integer::sum);
    }
    List<CellLimit> asked = new ArrayList<>();
    for (CellState cell : cells) {
      HandlerLine handler = line.apply(cell.cell);
      if (!cell.leaving && handler.roomForPlaced() > 0) {
        // Lanes are not filled evenly; and what is open already comes back again.
        int share = 2 * handler.roomForPlaced() / counts.getOrDefault(handler, 1);
        asked.add(new CellLimit(cell.cell, cell.placed + Math.max(1, share)));
      }
    }
    int taken = 0;
    if (!asked.isEmpty()) {
      List<Delivery> rows = store.placed(asked);
      taken = add(rows, found);
      leftBehind.clear();
      leftBehind.addAll(havingMore(asked, rows));
      Set<Cell> empty = empty(asked.stream().map(CellLimit::cell), rows);
      cells.forEach(cell -> cell.noPlaced |= empty.contains(cell.cell));
    }
    placedPoll = taken > 0 ? pollMin : Math.min(pollMax, 2 * placedPoll);
    nextPlaced = now + placedPoll;
    noPlacedBefore = now + SHORTEST_DUE_PAUSE;
  }

  /** The handlers for which more rows with a place wait than are open here now. */
  private Set<HandlerLine> havingMore(List<CellLimit> asked, List<Delivery> rows) {
    Map<Cell, Integer> found = new HashMap<>();
    Map<HandlerLine, Integer> ofHandler = new HashMap<>();
    for (Delivery row : rows) {
      found.merge(row.cell(), 1, Integer::sum);
      ofHandler.merge(line.apply(row.cell()), 1, Integer::sum);
    }
    Set<HandlerLine> more = new HashSet<>();
    for (CellLimit each : asked) {
      if (found.getOrDefault(each.cell(), 0) >= each.limit()) {
        more.add(line.apply(each.cell()));
      }
    }
    ofHandler.forEach(
        (handler, count) -> {
          if (count > handler.placed) {
            more.add(handler);
          }
        });
    return more;
  }

  private void lookBack(long now, ToIntFunction<List<Delivery>> found) {
    List<Range> ranges = new ArrayList<>();
    for (CellState cell : cells) {
      long then = cell.tick();
      if (then < cell.cursor && !cell.leaving && hasRoom(line.apply(cell.cell))) {
        ranges.add(new Range(cell.cell, then, cell.cursor, MOST_LOOKED_BACK));
      }
    }
    long began = nanos.getAsLong();
    if (!ranges.isEmpty()) {
      add(store.fresh(ranges), found);
    }
    nextLookBack = now + Math.max(LOOK_BACK, 10 * (nanos.getAsLong() - began));
  }

  private void sweep(long now, ToIntFunction<List<Delivery>> found) {
    long began = nanos.getAsLong();
    int each = Math.max(SHARE, Math.min(SWEEP_CHUNK, MOST_SWEPT / cells.size()));
    Map<Cell, Range> all = new HashMap<>();
    for (CellState cell : cells) {
      if (!cell.leaving && cell.cursor > 0 && line.apply(cell.cell).room() > 0) {
        all.put(cell.cell, new Range(cell.cell, 0, cell.cursor, each));
      }
    }
    sweeping =
        sweeping.isEmpty()
            ? List.copyOf(all.values())
            : sweeping.stream().filter(range -> all.containsKey(range.cell())).toList();
    long took = 0; // what is found behind keys whose head is not due costs questions each time
    for (int i = 0; i < CHUNKS_AT_ONCE && took < LONGEST_WALK && !sweeping.isEmpty(); i++) {
      List<Delivery> rows = store.fresh(sweeping);
      Set<Cell> empty =
          empty(sweeping.stream().filter(range -> range.after() == 0).map(Range::cell), rows);
      cells.forEach(cell -> cell.noFresh |= empty.contains(cell.cell));
      add(rows, found);
      sweeping = unfinished(sweeping, rows);
      took = nanos.getAsLong() - began;
    }
    sweepTook = nanos.getAsLong() - began;
    long pause = 20 * sweepTook;
    if (sweeping.isEmpty()) {
      pause = Math.max(sweepAgain ? LOOK_BACK : SWEEP, pause);
      sweepAgain = false;
    }
    nextSweep = now + pause;
    if (sweeping.isEmpty() || now - lastSwept >= SWEEP) {
      swept = true;
      lastSwept = now;
    }
  }

  /** Those of which no row has come. */
  private static Set<Cell> empty(Stream<Cell> asked, List<Delivery> rows) {
    Set<Cell> empty = asked.collect(Collectors.toCollection(HashSet::new));
    rows.forEach(row -> empty.remove(row.cell()));
    return empty;
  }

  /** A range that came back full goes on behind its last row. */
  private static List<Range> unfinished(List<Range> ranges, List<Delivery> rows) {
    Map<Cell, Long> last = new HashMap<>();
    Map<Cell, Integer> counts = new HashMap<>();
    for (Delivery row : rows) {
      last.merge(row.cell(), row.seq(), Math::max);
      counts.merge(row.cell(), 1, Integer::sum);
    }
    List<Range> next = new ArrayList<>();
    for (Range range : ranges) {
      Long reached = last.get(range.cell());
      if (reached != null && counts.getOrDefault(range.cell(), 0) >= range.limit()) {
        next.add(new Range(range.cell(), reached, range.upTo(), range.limit()));
      }
    }
    return next;
  }

  private int add(List<Delivery> rows, ToIntFunction<List<Delivery>> found) {
    asked = true;
    int added = rows.isEmpty() ? 0 : found.applyAsInt(rows);
    taken += added;
    return added;
  }
}
