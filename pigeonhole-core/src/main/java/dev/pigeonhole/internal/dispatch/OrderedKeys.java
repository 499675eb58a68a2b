package dev.pigeonhole.internal.dispatch;

import dev.pigeonhole.OnPoison;
import dev.pigeonhole.store.Ahead;
import dev.pigeonhole.store.AheadRead;
import dev.pigeonhole.store.Cell;
import dev.pigeonhole.store.Deliveries;
import dev.pigeonhole.store.Delivery;
import dev.pigeonhole.store.Outcome;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Lets the rows of an ordering key run one at a time, lowest first. Touched by the dispatcher's
 * thread alone.
 *
 * <p>A row runs when it is the lowest open one of its key. Rows of lower numbers can become visible
 * after it was read (their commit was late), but any row that must come before it had been
 * committed before it was even accepted; so one question to the database when the row is first seen
 * ({@link Deliveries#ahead}) finds them all.
 *
 * <p>A key that has more followers than this node wants to remember is <em>full</em>: the rest is
 * neither kept nor asked about, but left where it is until half of the others are gone.
 *
 * <p>Behind a poisoned head nothing runs, unless its channel says so. Behind a head that waits for
 * its time everything waits, until it has come back as due. Whenever somebody else turns out to
 * work on a key, all that was thought of it is forgotten and read again.
 */
final class OrderedKeys {
  private static final int MAX_WAITING_PER_CAPACITY = 20;
  private static final int AHEAD_AT_ONCE = 100;

  /** Of each key, however crowded its handler is by others: else it would go on with the sweeps. */
  private static final int ALWAYS_KEPT = 4;

  /** What the dispatcher does with a row when its key says so. */
  interface Rows {
    HandlerLine line(Cell cell);

    /** Whether rows of the cell may be started here: it is ours, and will stay so. */
    boolean staying(Cell cell);

    /** Whether the row is queued, running or unsettled. */
    boolean isOpen(Delivery row);

    /** Opens the row; false if it was open before. */
    boolean open(Delivery row);

    /** The row was not started and may be read again. */
    void forget(Delivery row);

    /** It is the row's turn. */
    void admit(Delivery row);

    /** The row waits without a time, until its poisoned head is settled. */
    void block(Delivery row);

    /** Makes the next sweep find what was forgotten behind the cursor. */
    void sweepSoon();
  }

  private record KeyName(Cell cell, long hash) {
    static KeyName of(Delivery row) {
      return new KeyName(row.cell(), OrderedKeys.hash(row));
    }
  }

  private final Deliveries store;
  private final Collection<HandlerLine> lines;
  private final Rows rows;

  OrderedKeys(Deliveries store, Collection<HandlerLine> lines, Rows rows) {
    this.store = store;
    this.lines = lines;
    this.rows = rows;
  }

  /** Whether the row has to wait for its turn in a key. */
  boolean orders(Delivery row) {
    return row.keyHash() != null && !rows.line(row.cell()).handler.spec().unordered();
  }

  private static long hash(Delivery row) {
    Long hash = row.keyHash();
    return hash == null ? 0 : hash;
  }

  private static Ahead question(Delivery row) {
    return new Ahead(row.cell(), hash(row), row.seq());
  }

  // ---- rows coming in

  /** Puts rows that have just been read, and opened, into their keys. */
  void take(List<Delivery> offered) {
    List<Delivery> read = new ArrayList<>(offered.size());
    for (Delivery row : offered) {
      if (hasNoRoomFor(row)) {
        rows.forget(row);
      } else {
        read.add(row);
      }
    }
    if (!read.isEmpty()) {
      putIntoKeys(read);
    }
  }

  /** To ask what stands before such a row would bring back everything that was left out so far. */
  private boolean hasNoRoomFor(Delivery row) {
    KeyLine key = rows.line(row.cell()).keys.get(hash(row));
    return key != null && key.full && !key.members.isEmpty() && row.seq() > key.members.lastKey();
  }

  private void putIntoKeys(List<Delivery> read) {
    Map<KeyName, Delivery> highest = new LinkedHashMap<>();
    for (Delivery row : read) {
      highest.merge(KeyName.of(row), row, (one, other) -> one.seq() > other.seq() ? one : other);
    }
    AheadRead ahead = ahead(highest.values().stream().map(OrderedKeys::question).toList());
    for (Delivery row : ahead.open()) {
      joinFromAhead(row);
    }
    Set<Ahead> blocked = blockedRows(read, ahead);
    List<Delivery> behindPoison = new ArrayList<>();
    for (Delivery row : read) {
      if (blocked.contains(question(row))) {
        behindPoison.add(row);
      } else {
        join(row);
      }
    }
    behindPoison.forEach(rows::block);
    for (Map.Entry<KeyName, Delivery> each : highest.entrySet()) {
      HandlerLine line = rows.line(each.getValue().cell());
      KeyLine key = line.keys.get(each.getKey().hash());
      if (key != null) {
        trim(line, key);
        advance(line, each.getKey().hash(), key);
      }
    }
  }

  /** A key that is blocked for its highest row need not be for its lower ones: ask for each. */
  private Set<Ahead> blockedRows(List<Delivery> read, AheadRead ahead) {
    if (ahead.blocked().isEmpty()) {
      return Set.of();
    }
    Set<KeyName> keys = new HashSet<>();
    for (Ahead question : ahead.blocked()) {
      keys.add(new KeyName(question.cell(), question.keyHash()));
    }
    List<Ahead> questions = new ArrayList<>();
    for (Delivery row : read) {
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
    List<Delivery> open = new ArrayList<>();
    Set<Ahead> blocked = new HashSet<>();
    for (int from = 0; from < questions.size(); from += AHEAD_AT_ONCE) {
      int to = Math.min(from + AHEAD_AT_ONCE, questions.size());
      AheadRead part = store.ahead(questions.subList(from, to));
      open.addAll(part.open());
      blocked.addAll(part.blocked());
    }
    return new AheadRead(open, blocked);
  }

  /** A row the database says stands ahead: fresh ones came late, others wait for their time. */
  private void joinFromAhead(Delivery row) {
    if (!rows.staying(row.cell())) {
      return;
    }
    if (row.late() || rows.isOpen(row)) {
      // Open but in no line: it is still running from before its line was dropped.
      keyOf(row).members.putIfAbsent(row.seq(), new KeyLine.Member(row, false));
    } else if (rows.open(row)) {
      join(row);
    }
  }

  private KeyLine keyOf(Delivery row) {
    return rows.line(row.cell()).keys.computeIfAbsent(hash(row), none -> new KeyLine());
  }

  private void join(Delivery row) {
    HandlerLine line = rows.line(row.cell());
    KeyLine key = keyOf(row);
    KeyLine.Member before = key.members.put(row.seq(), new KeyLine.Member(row, true));
    if (before == null || !before.runnable()) {
      line.waitingInKeys++;
    }
  }

  /** Forgets the last ones of a key while there are too many; a sweep or a due read finds them. */
  private void trim(HandlerLine line, KeyLine key) {
    while (line.waitingInKeys > most(line) && key.members.size() > ALWAYS_KEPT) {
      KeyLine.Member last = key.members.lastEntry().getValue();
      if (!last.runnable() || (key.running != null && key.running.seq() == last.row().seq())) {
        return;
      }
      key.members.pollLastEntry();
      key.full = true;
      line.waitingInKeys--;
      rows.forget(last.row());
    }
  }

  private static int most(HandlerLine line) {
    return line.capacity * MAX_WAITING_PER_CAPACITY;
  }

  private void advance(HandlerLine line, long hash, KeyLine key) {
    if (key.full && line.waitingInKeys * 2 <= most(line)) {
      key.full = false;
      rows.sweepSoon();
    }
    Delivery next = key.next();
    if (next != null) {
      key.running = next;
      line.waitingInKeys--;
      rows.admit(next);
    } else if (key.members.isEmpty() && key.running == null) {
      line.keys.remove(hash);
      if (key.full) {
        rows.sweepSoon(); // nobody else remembers that there is more
      }
    }
  }

  /**
   * Somebody else may have settled a head that a key waits for: an operator, or a node that took
   * over for a while. What the database no longer knows is forgotten.
   */
  void lookAgainAtWaiting() {
    Map<Ahead, KeyLine> waiting = new HashMap<>();
    for (HandlerLine line : lines) {
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
    Map<Cell, Set<Long>> stillThere = new HashMap<>();
    for (Delivery row : ahead.open()) {
      stillThere.computeIfAbsent(row.cell(), cell -> new HashSet<>()).add(row.seq());
    }
    waiting.forEach(
        (question, key) -> {
          Set<Long> there = stillThere.getOrDefault(question.cell(), Set.of());
          key.members
              .values()
              .removeIf(each -> !each.runnable() && !there.contains(each.row().seq()));
          advance(rows.line(question.cell()), question.keyHash(), key);
        });
  }

  // ---- what came of it

  /**
   * The end of an attempt is written.
   *
   * @param refused whether somebody else had settled the row before
   */
  void settled(Delivery row, Outcome outcome, boolean refused) {
    if (!orders(row)) {
      return;
    }
    HandlerLine line = rows.line(row.cell());
    long hash = hash(row);
    KeyLine key = line.keys.get(hash);
    if (key == null) {
      return;
    }
    if (refused) {
      drop(line, hash, key);
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
      line.waitingInKeys += known ? 1 : 0; // it came back as due before the news of its failure
    } else {
      key.members.remove(row.seq());
      waitOrBlock(line, key, row, outcome);
    }
    advance(line, hash, key);
  }

  private void waitOrBlock(HandlerLine line, KeyLine key, Delivery row, Outcome outcome) {
    if (outcome instanceof Outcome.Poisoned poisoned) {
      if (poisoned.onPoison() == OnPoison.SKIP) {
        return;
      }
      List<Delivery> followers = new ArrayList<>();
      for (KeyLine.Member member : key.members.values()) {
        if (member.runnable()) {
          followers.add(member.row());
        }
      }
      for (Delivery follower : followers) {
        key.members.remove(follower.seq());
        line.waitingInKeys--;
        rows.block(follower);
      }
    } else if (!(outcome instanceof Outcome.Completed)) {
      // It waits in later; the key stays closed until it has come back as due.
      key.members.put(row.seq(), new KeyLine.Member(row, false));
    }
  }

  /** The row was given up without an end: its key is read again. */
  void left(Delivery row) {
    if (!orders(row)) {
      return;
    }
    HandlerLine line = rows.line(row.cell());
    KeyLine key = line.keys.get(hash(row));
    if (key != null) {
      key.leave(row);
      drop(line, hash(row), key);
    }
  }

  // ---- dropping

  /** Forgets every key of the line that has a row in the cell. */
  void drop(HandlerLine line, Cell cell) {
    for (Map.Entry<Long, KeyLine> each : List.copyOf(line.keys.entrySet())) {
      KeyLine key = each.getValue();
      if (key.members.values().stream().anyMatch(member -> member.row().cell().equals(cell))) {
        drop(line, each.getKey(), key);
      }
    }
  }

  /** Forgets every key of the line. */
  void drop(HandlerLine line) {
    for (Map.Entry<Long, KeyLine> each : List.copyOf(line.keys.entrySet())) {
      drop(line, each.getKey(), each.getValue());
    }
  }

  /** Somebody else works on this key: forget what we think its order is, and read it again. */
  private void drop(HandlerLine line, long hash, KeyLine key) {
    line.keys.remove(hash);
    for (KeyLine.Member member : key.members.values()) {
      Delivery row = member.row();
      if (member.runnable() && !row.equals(key.running)) {
        if (key.running == null || key.running.seq() != row.seq()) {
          line.waitingInKeys--; // else it is the running one's next attempt, never counted
        }
        rows.forget(row);
        rows.sweepSoon();
      }
    }
  }
}
