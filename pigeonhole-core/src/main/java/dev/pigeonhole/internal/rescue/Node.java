package dev.pigeonhole.internal.rescue;

import dev.pigeonhole.event.InboxEvent;
import dev.pigeonhole.internal.dispatch.Events;
import dev.pigeonhole.store.Cell;
import dev.pigeonhole.store.CellRow;
import dev.pigeonhole.store.InboxStore;
import dev.pigeonhole.store.NodeRow;
import dev.pigeonhole.store.Nodes;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * This process as one node among others. It beats, watches the others' beats, takes its share of
 * the cells of every handler it knows, and gives back what is above it.
 *
 * <p>Safety never rests on this class. It decides who works where; a node that is wrong about it
 * costs a repeated invocation at most, because a settle names the row's version and only the first
 * one wins.
 *
 * <p>{@link #tick} is called by one thread. {@link #mayStart} and {@link #incarnation} are read by
 * all.
 */
public final class Node {
  /** Is told what the node gained and has to give up. */
  public interface Cells {
    void taken(List<CellRow> cells);

    /** Stop working on these, and say when that is done with {@link Node#giveBack}. */
    void wanted(List<Cell> cells);

    /** Go on working on these, which were wanted and have not been given back. */
    void unwanted(List<Cell> cells);

    /** Drop these: another node owns them by now, or this one takes them anew. */
    void gone(List<Cell> cells);

    /** Everything is lost: this incarnation was declared dead. */
    void lost();

    /** Somebody has paused these handler families, and no others. */
    void paused(Set<Integer> families);

    /** What is worked on now. */
    Set<Cell> owned();

    /** What is owned, but about to be given back. */
    Set<Cell> leaving();

    /** Of which an attempt is under way. */
    Set<Cell> busy();
  }

  private static final Logger LOG = LoggerFactory.getLogger(Node.class);

  private final Nodes nodes;
  private final UnknownKeys unknownKeys;
  private final Events events;
  private final String name;
  private final HandlerKeys keys;
  private final Set<Integer> families;
  private final Duration beat;
  private final LastHeartbeat lastBeat;
  private final Cells cells;
  private final Watch watch;
  private final Handovers handovers = new Handovers();

  private volatile long incarnation;

  /** The beats that are known to be written. */
  private long written;

  private volatile boolean stopping;
  private volatile Set<Long> dead = Set.of();
  private volatile @Nullable List<NodeRow> unlooked;
  private long nextBeatNanos;
  private List<NodeRow> lastNodes = List.of();
  private Set<Integer> paused = Set.of();

  /**
   * The takes by which the dispatcher has its cells, or will have them when it has read its mail.
   * Added and changed by the node's thread. The dispatcher's thread removes those that it has given
   * back: the database may forget that, and a cell that is still here would stand still.
   */
  private final ConcurrentMap<Cell, CellRow> held = new ConcurrentHashMap<>();

  public Node(
      InboxStore store,
      Events events,
      String name,
      HandlerKeys keys,
      Duration beat,
      Duration deadAfter,
      LastHeartbeat lastBeat,
      Duration holdUnknownKeys,
      Cells cells) {
    this.nodes = store.nodes();
    this.events = events;
    this.name = name;
    this.keys = keys;
    this.families = keys.families();
    this.beat = beat;
    this.lastBeat = lastBeat;
    this.cells = cells;
    this.watch = new Watch(deadAfter, beat);
    this.unknownKeys = new UnknownKeys(store, events, holdUnknownKeys, beat.multipliedBy(2));
  }

  /** Makes itself known and takes what is free. */
  public void join() {
    keys.registerAgain();
    LastHeartbeat.Moment sent = lastBeat.now();
    written = 0;
    incarnation = nodes.join(name, families);
    lastBeat.sentAt(sent);
    nextBeatNanos = lastBeat.nanos() + beat.toNanos();
    nodes.known(families);
    look();
  }

  public long incarnation() {
    return incarnation;
  }

  /**
   * Whether a delivery may be started: the last beat was sent so lately that no other node can have
   * taken this one for dead.
   */
  public boolean mayStart() {
    return !stopping && lastBeat.isRecent();
  }

  /**
   * The same for a delivery of a cell that this incarnation has taken. What a former one had read
   * belongs to others since they took it for dead, and its threads may not have heard of that when
   * the next one beats.
   */
  public boolean mayStart(long owner) {
    return mayStart() && owner == incarnation; // in this order: a join sets them the other way
  }

  /** Whether it has beaten lately, stopping or not. */
  public boolean beating() {
    return lastBeat.isRecent();
  }

  /**
   * Whether a row marked by this incarnation was left behind by a crash. An incarnation that the
   * store has forgotten may as well have stopped cleanly, so its marks make no suspects.
   */
  public boolean died(long marked) {
    return dead.contains(marked);
  }

  /** Beats when it is time, and looks for cells that became free in between. */
  public void tick() {
    if (!beatIfDue() && !stopping) {
      share(false);
    }
  }

  /** Beats when it is time, or when the clocks disagree; answers whether it was. */
  public boolean beatIfDue() {
    if (lastBeat.now().nanos() - nextBeatNanos < 0 && lastBeat.isRecent()) {
      return false;
    }
    beat();
    return true;
  }

  /** How long until the next tick is useful. */
  public Duration tickInterval() {
    return beat.dividedBy(4);
  }

  /**
   * Beats if the last one was sent a while ago, and leaves everything else to the next beat that is
   * due: a look at the others may take so long that nothing may be started after it.
   */
  public void stayAlive() {
    if (lastBeat.now().nanos() - lastBeat.nanos() >= beat.toNanos()) {
      sendBeat();
    }
  }

  private void beat() {
    if (sendBeat()) {
      nextBeatNanos = lastBeat.nanos() + beat.toNanos();
      look();
    }
  }

  /** False if this incarnation is over; then the next one has joined. */
  private boolean sendBeat() {
    LastHeartbeat.Moment sent = lastBeat.now();
    if (!nodes.beat(incarnation, written)) {
      if (!stopping) {
        LOG.atWarn()
            .addKeyValue("pigeonhole.event", "declared-dead")
            .addKeyValue("pigeonhole.inbox", events.inbox())
            .addKeyValue("pigeonhole.node", name)
            .log(
                "Node {} was declared dead by another node, or the database has forgotten its"
                    + " heartbeats; it joins again",
                name);
        Set<Cell> ours = new HashSet<>(cells.owned());
        ours.addAll(cells.leaving());
        tellLost(ours);
        cells.lost();
        held.clear();
        handovers.clear();
        join();
      }
      return false;
    }
    written++;
    lastBeat.sentAt(sent);
    return true;
  }

  private void look() {
    List<NodeRow> all = nodes.nodes();
    remember(all);
    for (NodeRow silent : watch.silent(all, incarnation, System.nanoTime())) {
      if (nodes.declareDead(silent.incarnation(), silent.beat())) {
        LOG.atWarn()
            .addKeyValue("pigeonhole.event", "node-died")
            .addKeyValue("pigeonhole.inbox", events.inbox())
            .addKeyValue("pigeonhole.node", silent.name())
            .log("Node {} has been silent for too long and was declared dead", silent.name());
        events.tell(new InboxEvent.NodeDied(events.inbox(), silent.name()));
      }
    }
    if (stopping) {
      reportAgain(all);
    } else {
      lookForPauses(); // before cells are taken, whose handler may be paused
      share(true);
      unlooked = all;
    }
  }

  /**
   * A node that counts as living has a share that the others leave free. The report may have failed
   * or been forgotten, or have been about an incarnation that is dead by now.
   */
  private void reportAgain(List<NodeRow> all) {
    if (all.stream()
        .anyMatch(row -> row.incarnation() == incarnation && row.state() == NodeRow.State.LIVE)) {
      nodes.stopping(incarnation);
    }
  }

  /** Learns what somebody has paused or resumed. */
  public void lookForPauses() {
    Set<Integer> now = nodes.paused();
    if (!now.equals(paused)) {
      paused = now;
      cells.paused(now);
    }
  }

  /**
   * Looks after keys that nobody knows, once per beat. Not on the thread of the beats: this asks
   * the store like a delivery does, and a pool that is empty must not look like a dead node.
   */
  public void lookAfterUnknownKeys() {
    List<NodeRow> all = unlooked;
    if (all != null && !stopping) {
      unlooked = null;
      unknownKeys.look(all);
    }
  }

  private void remember(List<NodeRow> all) {
    dead =
        all.stream()
            .filter(row -> row.state() == NodeRow.State.DEAD)
            .map(NodeRow::incarnation)
            .collect(Collectors.toUnmodifiableSet());
    lastNodes = all;
  }

  private void share(boolean givingBack) {
    // Both before the read: cells that it shows as ours may be given back meanwhile.
    Set<Cell> owned = cells.owned();
    Set<Cell> heldBefore = Set.copyOf(held.keySet());
    List<CellRow> all = nodes.cells(families);
    handovers.retain(ours(all));
    Shares shares =
        Shares.of(all, lastNodes, incarnation, handovers.asked(), cells.busy(), handovers.tried());
    List<Cell> gone =
        all.stream()
            .filter(row -> row.owner() != incarnation && owned.contains(row.cell()))
            .map(CellRow::cell)
            .toList();
    if (!gone.isEmpty()) {
      tellLost(gone);
      cells.gone(gone);
    }
    held.keySet().removeAll(notOurs(all));
    List<Cell> wanted = new ArrayList<>(shares.take());
    List<Cell> unheard = unheard(all, heldBefore);
    if (!unheard.isEmpty()) {
      // Taken anew, with a new token: another node may have had it, and the database forgot that.
      nodes.giveBack(incarnation, unheard);
      wanted.addAll(unheard);
    }
    List<CellRow> gained = wanted.isEmpty() ? List.of() : nodes.take(incarnation, wanted);
    if (gained.stream().anyMatch(CellRow::unclean)) {
      remember(nodes.nodes()); // or marks of the one that has just died would look like a friend's
    }
    if (!gained.isEmpty()) {
      tellGained(gained);
      List<Cell> anew = gained.stream().map(CellRow::cell).toList();
      cells.gone(anew); // what the dispatcher may still have of an earlier take, with its token
      cells.taken(gained);
      gained.forEach(row -> held.put(row.cell(), row));
      handovers.forget(anew);
    }
    if (givingBack) {
      handOver(shares);
    }
  }

  /** Asks for cells above the share, and goes on with those that do not get empty or may stay. */
  private void handOver(Shares shares) {
    handovers.forget(shares.keep());
    List<Cell> staying = new ArrayList<>(shares.keep());
    staying.addAll(handovers.overdue());
    if (!staying.isEmpty()) {
      cells.unwanted(staying);
    }
    if (!shares.giveBack().isEmpty()) {
      handovers.ask(shares.giveBack());
      cells.wanted(shares.giveBack());
    }
  }

  private Set<Cell> ours(List<CellRow> all) {
    return those(all, row -> row.owner() == incarnation);
  }

  private Set<Cell> notOurs(List<CellRow> all) {
    return those(all, row -> row.owner() != incarnation);
  }

  private static Set<Cell> those(List<CellRow> all, Predicate<CellRow> which) {
    return all.stream().filter(which).map(CellRow::cell).collect(Collectors.toSet());
  }

  private void tellGained(List<CellRow> gained) {
    int rescued = (int) gained.stream().filter(CellRow::unclean).count();
    if (rescued > 0) {
      LOG.atWarn()
          .addKeyValue("pigeonhole.event", "takeover")
          .addKeyValue("pigeonhole.inbox", events.inbox())
          .addKeyValue("pigeonhole.node", name)
          .addKeyValue("pigeonhole.lanes", rescued)
          .log("Node {} takes over {} lanes on probation: an owner of theirs died", name, rescued);
    }
    moved(InboxEvent.Move.RESCUED, rescued);
    moved(InboxEvent.Move.ACQUIRED, gained.size() - rescued);
  }

  /** Each once: the dispatcher may not have heard of it when it is looked at again. */
  private void tellLost(Collection<Cell> gone) {
    moved(InboxEvent.Move.LOST, (int) gone.stream().filter(held::containsKey).count());
  }

  private void moved(InboxEvent.Move move, int lanes) {
    if (lanes > 0) {
      events.tell(new InboxEvent.LanesMoved(events.inbox(), move, lanes));
    }
  }

  /**
   * The cells that the database lists as ours although the dispatcher does not have them: the
   * answer to a take was lost on its way, or the database has forgotten that a cell was given back.
   *
   * @param heldBefore what was held before the database was asked: the dispatcher may have given a
   *     cell back since then, and another node may have it
   */
  private List<Cell> unheard(List<CellRow> all, Set<Cell> heldBefore) {
    List<Cell> unheard = new ArrayList<>(ours(all));
    unheard.removeAll(heldBefore);
    return unheard;
  }

  /**
   * No attempt runs any more in these cells, which that incarnation of this node had taken. A clean
   * stop ends their probation; a node that hands them over while it works passes it on. Called by
   * the dispatcher's thread.
   */
  public void giveBack(long owner, Collection<Cell> done) {
    // Read before: as soon as the cells are free, the node's thread may take them again.
    Set<Cell> all = Set.copyOf(done);
    List<CellRow> takes =
        held.values().stream()
            .filter(row -> row.owner() == owner && all.contains(row.cell()))
            .toList();
    if (stopping) {
      nodes.markClean(owner, done);
    }
    nodes.giveBack(owner, done);
    // Removed after: a cell that is listed as ours and was not held before is taken anew.
    takes.forEach(row -> held.remove(row.cell(), row));
    moved(InboxEvent.Move.HANDED_OVER, done.size());
  }

  public void markClean(long owner, Collection<Cell> done) {
    nodes.markClean(owner, done);
  }

  /** Says that this node will soon be gone; from now on it starts nothing. */
  public void stopping() {
    stopping = true;
    nodes.stopping(incarnation);
  }

  /** Starts nothing from now on, whether or not the store can be told. */
  public void startNothing() {
    stopping = true;
  }

  /** The last word; whatever it still has is given back with it. */
  public void stopped() {
    int left = held.size(); // the dispatcher may have ended before it heard of the last of them
    nodes.stopped(incarnation);
    moved(InboxEvent.Move.HANDED_OVER, left);
  }

  /** Spreads ticks of many nodes, so that they do not beat in step. */
  public Duration nextTick() {
    long millis = Math.max(1, tickInterval().toMillis());
    return Duration.ofMillis(millis - ThreadLocalRandom.current().nextLong(millis / 4 + 1));
  }
}
