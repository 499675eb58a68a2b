package dev.pigeonhole.transport;

import dev.pigeonhole.Acceptance;
import dev.pigeonhole.Message;
import java.util.List;

/** A channel of an inbox, as its source sees it. Safe for many threads. */
@FunctionalInterface
public interface Acceptor {

  /**
   * Takes messages in and answers each, in order, once the answers are durable. Only then may a
   * source acknowledge, and never one that is {@link Acceptance.Unfinished}: that one is to be
   * offered again after a while, however often.
   *
   * @throws RuntimeException if the store cannot say; nothing may be acknowledged, everything is to
   *     be offered again, and what had been stored nevertheless is answered as a repeat then
   */
  List<Acceptance> accept(List<Message> messages);
}
