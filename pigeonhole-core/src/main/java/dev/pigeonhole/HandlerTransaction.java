package dev.pigeonhole;

import dev.pigeonhole.internal.registry.Outboxes;
import java.sql.Connection;

/** The transaction a {@link TransactionalHandler} writes in. */
public interface HandlerTransaction<T> {

  /**
   * The connection whose writes commit with the receipt. It refuses commit, rollback, close,
   * autocommit, and statements that would end the transaction. Any SQL error on it, caught or not,
   * rolls everything back. The attempt counts as failed unless the database itself was in trouble,
   * as with a deadlock or a lost connection: then it is made again, uncounted.
   */
  Connection connection();

  /** The message and the attempt. */
  Received<T> delivery();

  /**
   * Stages a message in this transaction, so that it goes out if, and only if, the receipt commits.
   * As with {@link Received#publish}, it tells where it comes from.
   *
   * @return the id it goes by
   * @throws InboxException if it cannot go out, or with {@code PH-OBX-02} if the inbox has no
   *     outbox
   */
  default String publish(Message message) {
    throw Outboxes.missing("Handler '" + delivery().handler() + "'");
  }
}
