package dev.pigeonhole;

import java.sql.Connection;

/** The transaction a {@link TransactionalHandler} writes in. */
public interface HandlerTransaction<T> {

  /**
   * The connection whose writes commit with the receipt. It refuses commit, rollback, close,
   * autocommit, and statements that would end the transaction; any SQL error on it, caught or not,
   * makes the attempt fail.
   */
  Connection connection();

  /** The message and the attempt. */
  Received<T> delivery();
}
