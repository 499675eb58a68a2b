package dev.pigeonhole;

/**
 * Several messages for one call of a {@link BatchHandler}. Each is a delivery of its own, with its
 * own receipt, failures and retries; whatever is not failed when the handler returns is completed.
 */
public interface Batch<T> extends Iterable<Received<T>> {

  /** At least one, and no more than the handler was declared with. */
  int size();

  /**
   * Fails one of them, and nobody else. The cause decides what comes next, as if a handler had
   * thrown it. Failing it again replaces the cause. Safe for many threads, until the handler
   * returns.
   *
   * @throws IllegalArgumentException if it is not of this batch
   */
  void fail(Received<T> message, Throwable cause);
}
