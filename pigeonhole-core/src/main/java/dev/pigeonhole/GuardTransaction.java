package dev.pigeonhole;

import dev.pigeonhole.internal.registry.Outboxes;
import java.sql.Connection;
import java.time.Duration;
import java.util.Optional;

/** The transaction that a {@link GuardBody} writes in. */
public interface GuardTransaction {

  /**
   * The connection whose writes commit with the receipt. It refuses commit, rollback, close,
   * autocommit, and statements that would end the transaction. Any SQL error on it, caught or not,
   * undoes the run.
   */
  Connection connection();

  /** Same on every run of the key, different per handler: hand it to whoever must not act twice. */
  String idempotencyKey();

  /** Time until the transaction is rolled back; empty in the transaction of a caller. */
  Optional<Duration> timeLeft();

  /**
   * Stages a message in this transaction, so that it goes out if, and only if, the receipt commits.
   * If it throws, the run is undone, even if the body catches that.
   *
   * @return the id it goes by
   * @throws InboxException if it cannot go out, or with {@code PH-OBX-02} if the guard has no
   *     outbox
   */
  default String publish(Message message) {
    throw Outboxes.missing("A guard");
  }
}
