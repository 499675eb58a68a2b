package dev.pigeonhole.tck;

import dev.pigeonhole.transport.Envelope;
import dev.pigeonhole.transport.MessageSource;
import java.util.List;

/** Where the sources of a {@link SourceContract} get their messages from: one empty queue. */
public interface SourceBroker extends AutoCloseable {

  /** One more source of the queue, not started, at whose settings nothing was changed. */
  MessageSource source();

  /**
   * Sends a message as a producer does: with id, type, content type, headers and body, as far as
   * they are there. Returns when it cannot be lost any more.
   */
  void send(Envelope envelope);

  /** How many messages nobody has acknowledged yet, whether they wait or were handed out. */
  long unacknowledged();

  /** Id and reason of each message that was put aside, in any order. */
  List<PutAside> aside();

  /** The smallest body, in bytes, that is too large for the source. */
  int tooLarge();

  /** Ends whatever was started for it. */
  @Override
  void close();

  /**
   * A message that was put aside.
   *
   * @param id empty where it had none, or where it cannot be told any more
   * @param reason as the source left it beside the message; it begins with the code
   */
  record PutAside(String id, String reason) {}
}
