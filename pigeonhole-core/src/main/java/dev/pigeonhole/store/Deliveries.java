package dev.pigeonhole.store;

import dev.pigeonhole.Failure;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Reading and settling. Reads write nothing and lock nothing; what they cost is what they return,
 * not what waits. Who owns a cell is not asked here: safety rests on {@link #settle}, which only
 * the first to name a row at its version can win.
 */
public interface Deliveries {

  /** Fresh rows of these ranges, ascending by seq within each cell. */
  List<Delivery> fresh(List<Range> ranges);

  /**
   * Rows of {@code later} whose due time has come, and when the next one comes; not those with a
   * place. Each cell is asked for once at most.
   */
  DueRead due(List<DueRange> ranges);

  /**
   * Rows that have a place of their own, the lowest first, over all of these cells. Such a row
   * could run at once. Being released keeps its place; every other outcome takes it away.
   */
  List<Delivery> placed(List<CellLimit> cells);

  /**
   * What stands before these ordered rows, in one snapshot that is no older than the call. Every
   * row whose accept had returned before the asked row's accept was called is seen, except that of
   * a key with more than {@link Ahead#MOST} of them only the lowest are told.
   */
  AheadRead ahead(List<Ahead> rows);

  /**
   * How many fresh rows, and rows with a place, each family has in these cells, counted up to
   * {@code atMost} and not further; a family without any may be missing.
   */
  Map<Integer, Integer> waiting(List<Cell> cells, int atMost);

  /**
   * Loads messages by number, in the order of the list, as long as their content and headers have
   * no more than {@code bytes} together. The first one is loaded whatever its size. Edited content
   * is not counted, so at most {@link #EDITED_AT_ONCE} edited messages are loaded.
   */
  Loaded load(List<Long> seqs, long bytes);

  /** See {@link #load(List, long)}. */
  int EDITED_AT_ONCE = 4;

  /** Messages by number, however large they are; one that is gone is missing from the answer. */
  default Map<Long, StoredMessage> load(Collection<Long> seqs) {
    Map<Long, StoredMessage> all = new HashMap<>();
    List<Long> open = List.copyOf(seqs);
    while (!open.isEmpty()) {
      Loaded part = load(open, Long.MAX_VALUE);
      all.putAll(part.messages());
      open = List.copyOf(part.left());
    }
    return all;
  }

  /** The newest recorded failure of each of these deliveries that has one. */
  Map<Delivery, Failure> lastFailures(List<Delivery> deliveries);

  /**
   * Records how attempts ended, and waits for no other transaction: while a row is locked by one,
   * its settlement is left out and named in the result, and the others are recorded. All that is
   * recorded at the first try is recorded in one commit. A receipt that already exists is
   * tolerated; the delivery is removed and counts as settled.
   */
  SettleResult settle(List<Settlement> settlements);

  /**
   * Marks rows with an incarnation before they are dispatched, without touching version or
   * counters. It waits for no other transaction: a row that one holds is not marked, and named in
   * the result, like a row that no longer exists at its version.
   *
   * @param lone whether each runs alone in its process, which counts one crash until it is settled
   */
  MarkResult mark(List<Delivery> deliveries, long incarnation, boolean lone);
}
