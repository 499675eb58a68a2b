package dev.pigeonhole.transport;

import java.util.List;

/**
 * A channel as its sources see it: what was received goes in, what to do with it comes out. Whether
 * there is an inbox behind it, they need not know. Safe for many threads.
 */
@FunctionalInterface
public interface Acceptor {

  /**
   * Takes envelopes in and says of each, in order, what the source has to do now. An inbox has made
   * durable what is {@link Disposition.Done} when this returns, and a direct channel has handled
   * it, so only then may a source acknowledge. Handlers that run here may leave the thread
   * interrupted.
   *
   * @throws RuntimeException if the store cannot say; nothing may be acknowledged, everything is to
   *     be handed in again, and what had been stored nevertheless is a repeat then
   */
  List<Disposition> accept(List<Envelope> envelopes);
}
