package dev.pigeonhole;

/**
 * Handles payloads. Invoked at least once for each message: after a crash it may see one again, so
 * it must be able to bear a repeat.
 *
 * <p>Called by up to {@code concurrency} threads at once, on every node.
 */
@FunctionalInterface
public interface Handler<T> {
  /**
   * Returning completes the delivery; throwing fails the attempt.
   *
   * @param payload this attempt's own copy; null for bytes or text of a message without a body
   */
  void handle(T payload) throws Exception;
}
