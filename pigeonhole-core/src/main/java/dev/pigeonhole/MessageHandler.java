package dev.pigeonhole;

/**
 * As {@link Handler}, with everything there is to know about the message and the attempt. Called by
 * up to {@code concurrency} threads at once, on every node.
 */
@FunctionalInterface
public interface MessageHandler<T> {
  /** Returning completes the delivery; throwing fails the attempt. */
  void handle(Received<T> received) throws Exception;
}
