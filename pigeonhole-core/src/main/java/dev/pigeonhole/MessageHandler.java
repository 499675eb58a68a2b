package dev.pigeonhole;

/** As {@link Handler}, with everything there is to know about the message and the attempt. */
@FunctionalInterface
public interface MessageHandler<T> {
  void handle(Received<T> received) throws Exception;
}
