package dev.pigeonhole.store;

import java.util.Collection;
import java.util.List;
import java.util.Set;

/**
 * Nodes and cells. A node has one row per incarnation and adds 1 to its beat; nobody's wall clock
 * takes part. A cell names its owner; taking and giving back are single updates that hit or miss.
 * Everything here runs on a connection that deliveries cannot exhaust.
 */
public interface Nodes {

  /**
   * Does the same as {@link Maintenance#register}, for a node that joins.
   *
   * @return one id per key asked for, in order
   */
  List<List<HandlerId>> register(List<List<String>> families);

  /**
   * Adds a live node and answers its incarnation, higher than any before. The lower half of it is
   * random: a number that the store has forgotten and gives again is another incarnation. A store
   * that only one process can open declares every other node dead here, its cells freed as unclean.
   *
   * @param name for people: host, process id
   * @param handlers the families this node can run
   */
  long join(String name, Set<Integer> handlers);

  /**
   * Adds 1 to the beat of a live or stopping node. False if this incarnation is over: it was
   * declared dead, or the store has forgotten it, or beats of it. What it owns is free then, as
   * after a death.
   *
   * @param written how many beats the node knows to be written; the store must not have fewer
   */
  boolean beat(long incarnation, long written);

  /** All nodes the store remembers, the dead and stopped of the last day included. */
  List<NodeRow> nodes();

  /**
   * Declares a node dead if its beat still is what the caller saw, and frees its cells (token + 1,
   * unclean). False if it has beaten since, or if another transaction holds the row of the node or
   * of one of its cells: this never waits for a process that may be paused. Call it again at the
   * next heartbeat.
   */
  boolean declareDead(long incarnation, long seenBeat);

  /** Every cell of these handler families. */
  List<CellRow> cells(Collection<Integer> handlers);

  /**
   * Takes those of these cells that have no owner, while the node is live, and answers what was
   * taken with the new token and whether the last owner left it uncleanly. The new token is the old
   * one + 1, or the time of the store's clock in milliseconds if that is more: so it is higher than
   * one that the store has forgotten.
   */
  List<CellRow> take(long incarnation, List<Cell> cells);

  /** Gives cells back that this node owns; one on probation stays so for its next owner. */
  void giveBack(long incarnation, Collection<Cell> cells);

  /** Ends probation: the cell counts as clean from now on, if this node still owns it. */
  void markClean(long incarnation, Collection<Cell> cells);

  /** Every handler family that somebody has paused. */
  Set<Integer> paused();

  /** Records that the node is stopping: it is no longer counted for shares. */
  void stopping(long incarnation);

  /**
   * Gives back whatever is left, which ends its probation, and records that the node stopped
   * cleanly.
   */
  void stopped(long incarnation);

  /**
   * Adds to the time during which a family was known to no living node, at most {@code upToMillis}
   * since the last call by any node, and answers the sum in milliseconds. Adds nothing and answers
   * 0 while another transaction holds the family, as a node does that joins with it.
   */
  long unknownFor(int handler, long upToMillis);

  /** Forgets that time: a living node knows the family again. */
  void known(Collection<Integer> handlers);
}
