package dev.pigeonhole.internal.dispatch;

import dev.pigeonhole.store.Cell;
import dev.pigeonhole.store.Delivery;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The open deliveries of one ordering key for one handler, lowest first. Only the head may run, and
 * the next one only after the head's settle has committed.
 */
final class KeyLine {
  /**
   * A delivery of the key.
   *
   * @param runnable false for one that waits in {@code later}: it keeps the key closed until it has
   *     come back as due
   */
  record Member(Delivery row, boolean runnable) {}

  final TreeMap<Long, Member> members = new TreeMap<>();

  /** The attempt under way. A later attempt of the same row may already be a member. */
  @Nullable Delivery running;

  /** Where rows wait that found no room here: until there is room again no more are put in. */
  final Set<Cell> leftOut = new HashSet<>();

  boolean full() {
    return !leftOut.isEmpty();
  }

  /** The head if it can run now. */
  @Nullable Delivery next() {
    Map.Entry<Long, Member> head = members.firstEntry();
    if (running != null || head == null || !head.getValue().runnable()) {
      return null;
    }
    return head.getValue().row();
  }

  /**
   * The attempt is not under way any more. One that this line does not know, because it began
   * before the line was dropped and read again, is no news of the one that runs now.
   */
  void ended(Delivery row) {
    if (row.equals(running)) {
      running = null;
    }
  }

  /** The same, and it is no member any more; a later attempt of the row stays. */
  void leave(Delivery row) {
    ended(row);
    Member member = members.get(row.seq());
    if (member != null && member.row().equals(row)) {
      members.remove(row.seq());
    }
  }

  /** Whether nobody runs, and nobody could if the others made way. */
  boolean nobodyCouldRun() {
    return running == null && members.values().stream().noneMatch(Member::runnable);
  }

  /** Whether somebody is kept waiting by a head that is not due. */
  boolean waitsForHead() {
    Map.Entry<Long, Member> head = members.firstEntry();
    return running == null
        && head != null
        && !head.getValue().runnable()
        && members.values().stream().anyMatch(Member::runnable);
  }
}
