package dev.pigeonhole.transport;

import java.time.Duration;

/**
 * Where the messages of a channel come from: a queue, a topic, a mailbox. The inbox starts it after
 * its engine, pauses it while too much work waits, and stops it before the engine.
 *
 * <p>All methods are called by one thread at a time. None may wait for the other side: a broker
 * that is down is the source's own business, in the background.
 */
public interface MessageSource {

  /** What it reads, for people: {@code rabbitmq:orders}. */
  String name();

  /** Begins to receive. Called again after {@link #stop} when the inbox is started anew. */
  void start(Acceptor acceptor);

  /** Takes nothing more from the other side until resumed; what is under way may end. */
  void pause(String reason);

  void resume();

  /**
   * Takes nothing more, acknowledges what has been accepted, and leaves the rest to the next
   * consumer. Returns when that is done, or after this time.
   */
  void stop(Duration patience);
}
