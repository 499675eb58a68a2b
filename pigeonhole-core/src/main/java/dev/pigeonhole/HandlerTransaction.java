package dev.pigeonhole;

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
}
