package dev.pigeonhole.jdbc.internal;

import dev.pigeonhole.store.Delivery;
import java.sql.SQLException;

/**
 * What the column {@code outcome} of a receipt says, and how deliveries get theirs.
 *
 * <p>A guard inserts its receipt as <em>running</em> and completes it in the same transaction, so
 * that nobody else ever sees a running one, unless something that the body has called has committed
 * before its end, such as a procedure. The guard fails such a run. What it leaves, if it cannot
 * take it back, proves nothing: nobody counts it, and whoever has finished puts a receipt over it.
 */
final class Receipts {
  static final int COMPLETED = 0;
  static final int DISCARDED = 1;
  static final int RUNNING = 2;

  static final String IS_RUNNING = "outcome = " + RUNNING;
  static final String COUNTS = "outcome <> " + RUNNING;

  static final String INSERT =
      """
      INSERT INTO {receipt} (seq, handler, key_id, failures, crashes, releases, completed_at)
      VALUES\s""";

  static final String ROW = "(?, ?, ?, ?, ?, ?, {now})";

  // Index: receipt_pk.
  static final String FORGET_RUNNING =
      "DELETE FROM {receipt} WHERE seq = ? AND handler = ? AND " + IS_RUNNING;

  private Receipts() {}

  /** The values of {@link #ROW}. */
  static void bind(Params params, Delivery completed) throws SQLException {
    params
        .add(completed.seq())
        .add(completed.cell().handler())
        .add(completed.keyId())
        .add(completed.failures())
        .add(completed.crashes())
        .add(completed.releases());
  }
}
