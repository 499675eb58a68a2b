package dev.pigeonhole.transport;

import java.time.Duration;
import java.util.Optional;

/**
 * Where the messages of a channel come from: a queue, a topic, a mailbox. The inbox starts it after
 * its engine, pauses it while too much work waits, and stops it before the engine.
 *
 * <p>{@link #start}, {@link #pause}, {@link #resume} and {@link #stop} are called by one thread at
 * a time. Only {@link #stop} may wait for the other side; a broker that is down is the source's own
 * business, in the background.
 *
 * <p>A source puts aside what is larger than it was told to take in, with {@code PH-PAY-02}, before
 * it hands anything on: what is too large should not be held in memory by hundreds.
 */
public interface MessageSource {

  /** What it reads, for people: {@code rabbitmq:orders}. */
  String name();

  /**
   * For how long after its first delivery a message may come again: a retention time of the queue,
   * the offsets of a topic, the retries of a sender. An inbox that forgets earlier warns at its
   * start. Empty where nobody can say.
   */
  default Optional<Duration> repeatHorizon() {
    return Optional.empty();
  }

  /**
   * What keeps it from receiving at present, for people: a broker that is not reached, a queue that
   * is missing. Empty while all is well, while it is not started, and where nobody can say. Asked
   * by any thread, and answers at once.
   */
  default Optional<String> trouble() {
    return Optional.empty();
  }

  /**
   * Begins to receive. Called again after {@link #stop} when the inbox is started anew. What it
   * throws stops the sources before it, and the inbox does not start.
   */
  void start(Acceptor acceptor);

  /**
   * Takes nothing more from the other side until resumed; what is under way may end. A
   * RuntimeException is logged and keeps nobody else, here and in the methods below.
   */
  void pause(String reason);

  /** Goes on after {@link #pause}. A source that is paused may also be stopped instead. */
  void resume();

  /**
   * Takes nothing more, acknowledges what has been accepted, and leaves the rest to the next
   * consumer. Returns when that is done, or after this time. The inbox stops all its sources at the
   * same time, each on a thread of its own, and interrupts them if its own stop is interrupted.
   */
  void stop(Duration patience);
}
