package dev.pigeonhole.internal.dispatch;

import dev.pigeonhole.OnPoison;
import dev.pigeonhole.store.Ahead;
import dev.pigeonhole.store.AheadRead;
import dev.pigeonhole.store.Cell;
import dev.pigeonhole.store.Deliveries;
import dev.pigeonhole.store.Delivery;
import dev.pigeonhole.store.Outcome;
import dev.pigeonhole.store.Versions;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

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
 * neither kept nor asked about, but left where it is until half of the others are gone. Then the
 * database is asked for the lowest ones of the key, and for no more than there is room for: what a
 * key costs does not depend on how much waits in it.
 *
 * <p>Behind a poisoned head nothing runs, unless its channel says so. Behind a head that waits for
 * its time everything waits, until it has come back as due. Whenever somebody else turns out to
 * work on a key, all that was thought of it is forgotten and read again.
 */
final class OrderedKeys {
  private static final int MAX_WAITING_PER_CAPACITY = 20;
  private static final int AHEAD_AT_ONCE = 100;
  private static final int ROWS_AT_ONCE = 2_000;

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

  /** Keys with room for what was left out. */
  private final Set<KeyName> hungry = new LinkedHashSet<>();

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
    // In parts: of each, what may be forgotten is forgotten before the next one.
    for (int from = 0; from < read.size(); from += ROWS_AT_ONCE) {
      putIntoKeys(read.subList(from, Math.min(from + ROWS_AT_ONCE, read.size())));
    }
  }

  /** To ask what stands before such a row would bring back everything that was left out so far. */
  private boolean hasNoRoomFor(Delivery row) {
    KeyLine key = rows.line(row.cell()).keys.get(hash(row));
    if (key == null || !key.full() || key.members.isEmpty() || row.seq() <= key.members.lastKey()) {
      return false;
    }
    key.leftOut.add(row.cell());
    return true;
  }

  private void putIntoKeys(List<Delivery> read) {
    Map<KeyName, Delivery> highest = new LinkedHashMap<>();
    for (Delivery row : read) {
      highest.merge(KeyName.of(row), row, (one, other) -> one.seq() > other.seq() ? one : other);
    }
    place(
        read,
        ahead(highest.values().stream().map(OrderedKeys::question).toList()),
        highest.keySet());
  }

  /** Whether {@link #refill} has something to ask. */
  boolean hungry() {
    return !hungry.isEmpty();
  }

  /** Asks for what was left out of keys that have room again, some of them at a time. */
  void refill() {
    hungry.removeIf(name -> !rows.staying(name.cell()) || rows.line(name.cell()).paused);
    List<KeyName> names = hungry.stream().limit(AHEAD_AT_ONCE).toList();
    if (names.isEmpty()) {
      return;
    }
    AheadRead ahead =
        ahead(
            names.stream()
                .map(name -> new Ahead(name.cell(), name.hash(), Long.MAX_VALUE))
                .toList());
    for (KeyName name : names) {
      hungry.remove(name); // only now: what was not answered is asked again
      KeyLine key = rows.line(name.cell()).keys.get(name.hash());
      if (key != null) {
        key.leftOut.remove(name.cell());
      }
    }
    if (!ahead.blocked().isEmpty()) {
      rows.sweepSoon(); // which goes on behind those that are blocked now
    }
    place(List.of(), ahead, names);
  }

  /** Puts rows into their keys, which are told by what the database says of them. */
  private void place(List<Delivery> read, AheadRead ahead, Collection<KeyName> names) {
    Set<KeyName> poisoned = new HashSet<>();
    for (Ahead question : ahead.blocked()) {
      poisoned.add(new KeyName(question.cell(), question.keyHash()));
    }
    List<Delivery> found = new ArrayList<>(read);
    for (Delivery row : ahead.open()) {
      if (!poisoned.contains(KeyName.of(row)) || row.late() || rows.isOpen(row)) {
        joinFromAhead(row);
      } else if (rows.staying(row.cell())) {
        if (rows.open(row)) {
          found.add(row); // it may stand behind the poisoned one as well
        } else {
          keepClosed(row);
        }
      }
    }
    Map<KeyName, Long> ends = endsOfTold(ahead.open());
    Set<Ahead> blocked = blockedRows(found, poisoned, ends);
    List<Delivery> behindPoison = new ArrayList<>();
    for (Delivery row : found) {
      if (blocked.contains(question(row))) {
        behindPoison.add(row);
      } else if (row.seq() > ends.getOrDefault(KeyName.of(row), Long.MAX_VALUE)) {
        keyOf(row).leftOut.add(row.cell());
        rows.forget(row);
      } else {
        if (row.late() && rows.line(row.cell()).forgotKeys) {
          keyOf(row).leftOut.add(row.cell()); // what follows may have been forgotten
        }
        join(row);
      }
    }
    behindPoison.forEach(rows::block);
    for (KeyName name : names) {
      HandlerLine line = rows.line(name.cell());
      KeyLine key = line.keys.get(name.hash());
      if (key != null) {
        Long end = ends.get(name);
        if (end != null && !blocked.contains(new Ahead(name.cell(), name.hash(), end))) {
          key.leftOut.add(name.cell()); // there is more that may run
        }
        trim(line, key);
        advance(line, name.hash(), key);
      }
    }
  }

  /**
   * Up to where keys are known of which not everything was told: between there and a row that was
   * read others may stand, so the row cannot be put into its key yet.
   */
  private Map<KeyName, Long> endsOfTold(List<Delivery> told) {
    Map<KeyName, Integer> counts = new HashMap<>();
    Map<KeyName, Long> ends = new HashMap<>();
    for (Delivery row : told) {
      counts.merge(KeyName.of(row), 1, Integer::sum);
      ends.merge(KeyName.of(row), row.seq(), Math::max);
    }
    ends.keySet().removeIf(name -> counts.getOrDefault(name, 0) < Ahead.MOST);
    ends.replaceAll((name, end) -> Math.max(end, lastMember(name)));
    return ends;
  }

  private long lastMember(KeyName name) {
    KeyLine key = rows.line(name.cell()).keys.get(name.hash());
    if (key != null) {
      for (KeyLine.Member member : key.members.descendingMap().values()) {
        if (member.row().cell().equals(name.cell())) {
          return member.row().seq();
        }
      }
    }
    return 0;
  }

  /** A key that is blocked for its highest row need not be for its lower ones: ask for each. */
  private Set<Ahead> blockedRows(
      List<Delivery> found, Set<KeyName> poisoned, Map<KeyName, Long> ends) {
    List<Ahead> questions = new ArrayList<>();
    for (Delivery row : found) {
      if (poisoned.contains(KeyName.of(row))) {
        questions.add(question(row));
      }
    }
    ends.forEach(
        (name, end) -> {
          if (poisoned.contains(name)) {
            questions.add(new Ahead(name.cell(), name.hash(), end));
          }
        });
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
    if (!row.late() && rows.open(row)) {
      join(row);
    } else {
      keepClosed(row);
    }
  }

  /**
   * For a row that is open in the database and cannot run now: it is not due, still runs from
   * before its line was dropped, or was taken for settled because it was locked. Nothing of its key
   * runs until it has been read again.
   */
  private void keepClosed(Delivery row) {
    keyOf(row).members.putIfAbsent(row.seq(), new KeyLine.Member(row, false));
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
    } else if (!before.row().equals(row) && !before.row().equals(key.running)) {
      rows.forget(before.row()); // no later step does
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
      key.leftOut.add(last.row().cell());
      line.waitingInKeys--;
      rows.forget(last.row());
    }
  }

  private static int most(HandlerLine line) {
    return line.capacity * MAX_WAITING_PER_CAPACITY;
  }

  private void advance(HandlerLine line, long hash, KeyLine key) {
    if (line.waitingInKeys * 2 <= most(line) && key.members.size() * 2 <= Ahead.MOST) {
      key.leftOut.forEach(cell -> hungry.add(new KeyName(cell, hash)));
    }
    Delivery next = key.next();
    if (next != null) {
      key.running = next;
      line.waitingInKeys--;
      rows.admit(next);
    } else if (key.members.isEmpty() && key.running == null) {
      line.keys.remove(hash);
      key.leftOut.forEach(cell -> hungry.add(new KeyName(cell, hash)));
    } else if (!key.full() && key.nobodyCouldRun() && line.handler.families().size() == 1) {
      // Whoever comes next asks what stands before it anyway, though in its own family alone.
      line.keys.remove(hash);
    } else if (mayForget(line) && key.waitsForHead()) {
      forget(line, hash, key);
    }
  }

  /** Beside keys that can run, a handler remembers so many whose head is not due. */
  private static boolean mayForget(HandlerLine line) {
    return line.keys.size() > 2 * line.capacity && line.handler.families().size() == 1;
  }

  /**
   * Forgets a key whose head is not due: during an outage there may be a million of them. When its
   * head comes back as due, what follows is asked for; a sweep finds it, too.
   */
  private void forget(HandlerLine line, long hash, KeyLine key) {
    line.keys.remove(hash);
    line.forgotKeys = true;
    key.leftOut.forEach(cell -> hungry.remove(new KeyName(cell, hash)));
    for (KeyLine.Member member : key.members.values()) {
      if (member.runnable()) {
        line.waitingInKeys--;
        rows.forget(member.row());
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
    Map<KeyName, TreeSet<Long>> stillThere = new HashMap<>();
    for (Delivery row : ahead.open()) {
      stillThere.computeIfAbsent(KeyName.of(row), name -> new TreeSet<>()).add(row.seq());
    }
    waiting.forEach(
        (question, key) -> {
          KeyName name = new KeyName(question.cell(), question.keyHash());
          TreeSet<Long> there = stillThere.getOrDefault(name, new TreeSet<>());
          long told = there.size() < Ahead.MOST ? Long.MAX_VALUE : there.last();
          key.members
              .values()
              .removeIf(
                  each ->
                      !each.runnable()
                          && each.row().seq() <= told
                          && !there.contains(each.row().seq()));
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
    if (member != null && isNoNewsOf(row, member.row())) {
      // It came back as due before the news of its failure, or has taken the number of one that
      // the database has forgotten.
      line.waitingInKeys += known ? 1 : 0;
    } else {
      key.members.remove(row.seq());
      waitOrBlock(line, key, row, outcome);
    }
    advance(line, hash, key);
  }

  /** Whether the outcome of a row does not concern the row that is in its place now. */
  private static boolean isNoNewsOf(Delivery ended, Delivery standing) {
    return standing.follows(ended) || !Versions.ofOneMessage(standing.version(), ended.version());
  }

  private void waitOrBlock(HandlerLine line, KeyLine key, Delivery row, Outcome outcome) {
    if (outcome instanceof Outcome.Poisoned poisoned) {
      if (poisoned.onPoison() == OnPoison.SKIP) {
        return;
      }
      List<Delivery> followers = new ArrayList<>();
      for (KeyLine.Member member : key.members.tailMap(row.seq(), false).values()) {
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
    if (key.full()) {
      rows.sweepSoon(); // nobody else remembers that there is more
    }
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
