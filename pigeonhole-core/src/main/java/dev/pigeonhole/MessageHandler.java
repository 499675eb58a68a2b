package dev.pigeonhole;

/** As {@link Handler}, with everything there is to know about the message and the attempt. */
@FunctionalInterface
public interface MessageHandler<T> {
  /** Returning completes the delivery; throwing fails the attempt. */
  void handle(Received<T> received) throws Exception;
}
