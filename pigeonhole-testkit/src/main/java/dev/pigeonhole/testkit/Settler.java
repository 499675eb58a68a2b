package dev.pigeonhole.testkit;

import dev.pigeonhole.store.Delivery;
import dev.pigeonhole.store.Outcome;
import dev.pigeonhole.store.Settlement;
import dev.pigeonhole.store.Versions;

/**
 * Ends one attempt. Every outcome takes the row away at its version or raises the version, so that
 * of several who name the same attempt only the first wins.
 *
 * <p>Crashes count as the caller read them: a lone mark that was set after the read is undone by
 * whatever outcome follows it, and one that was found is kept.
 */
final class Settler {
  private final Tables tables;

  Settler(Tables tables) {
    this.tables = tables;
  }

  /** False if the row is gone or has another version. */
  boolean settle(Settlement settlement) {
    OpenRow row = tables.at(settlement.delivery());
    if (row == null) {
      return false;
    }
    apply(row, settlement.delivery().crashes(), settlement.outcome());
    return true;
  }

  private void apply(OpenRow row, int crashes, Outcome outcome) {
    Delivery was = row.delivery();
    CellRows rows = tables.open(was.cell());
    if (outcome instanceof Outcome.Completed) {
      rows.remove(row);
      tables.receipts.putIfAbsent(
          Tables.RowKey.of(was),
          new Tables.ReceiptRow(next(was, 0, was.failures(), crashes, 0), tables.now(), false));
    } else if (outcome instanceof Outcome.RetryAfter retry) {
      Delivery next = next(was, 1, was.failures() + 1, 0, 0);
      rows.replace(row, OpenRow.due(next, tables.now().plus(retry.delay())));
      tables.record(next, retry.failure());
    } else if (outcome instanceof Outcome.LaterUncounted later) {
      Delivery next = next(was, 1, was.failures(), crashes, 0);
      rows.replace(row, OpenRow.due(next, tables.now().plus(later.delay())));
    } else if (outcome instanceof Outcome.Uncounted later) {
      Delivery next = next(was, 1, was.failures(), crashes, 1);
      rows.replace(row, OpenRow.due(next, tables.now().plus(later.delay())));
      tables.record(next, later.failure());
    } else if (outcome instanceof Outcome.Poisoned poisoned) {
      int failures = poisoned.counted() ? was.failures() + 1 : was.failures();
      tables.poison(
          row, next(was, 0, failures, crashes, 0), poisoned.failure(), poisoned.onPoison());
    } else if (outcome instanceof Outcome.Released) {
      Delivery next = next(was, 1, was.failures(), crashes, 1).at(was.place());
      rows.replace(row, OpenRow.due(next, tables.now()));
    } else if (outcome instanceof Outcome.Blocked) {
      Delivery next = next(was, 1, was.failures(), crashes, 0);
      rows.replace(
          row, staysBlocked(was) ? OpenRow.blocked(next) : OpenRow.due(next, tables.now()));
    }
  }

  /**
   * Whether something still stands in the way of this row. An operator may have dealt with it since
   * the engine looked, and what is blocked behind nothing would wait for ever.
   */
  private boolean staysBlocked(Delivery row) {
    return row.keyHash() == null
        || tables.keys.inTheWay(row.cell().handler(), row.keyHash(), row.seq());
  }

  /** The row after the attempt: its mark is always cleared. */
  private static Delivery next(Delivery was, int raise, int failures, int crashes, int released) {
    return new Delivery(
        was.cell(),
        was.seq(),
        raise == 0 ? was.version() : Versions.next(was.version()),
        was.keyId(),
        failures,
        crashes,
        was.releases() + released,
        was.keyHash(),
        0,
        was.late());
  }
}
