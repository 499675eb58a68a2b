package dev.pigeonhole;

/**
 * Handles payloads inside a transaction of the inbox's database: what is written through {@link
 * HandlerTransaction#connection()} commits together with the receipt, once. The code may run more
 * than once; its effects may not.
 *
 * <p>Called by up to {@code concurrency} threads at once, on every node.
 */
@FunctionalInterface
public interface TransactionalHandler<T> {
  /** Returning commits writes and receipt; throwing rolls back and fails the attempt. */
  void handle(T payload, HandlerTransaction<T> tx) throws Exception;
}
