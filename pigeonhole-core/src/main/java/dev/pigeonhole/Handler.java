package dev.pigeonhole;

/**
 * Handles payloads. Invoked at least once for each message: after a crash it may see one again, so
 * it must be able to bear a repeat.
 */
@FunctionalInterface
public interface Handler<T> {
  /** Returning completes the delivery; throwing fails the attempt. */
  void handle(T payload) throws Exception;
}
