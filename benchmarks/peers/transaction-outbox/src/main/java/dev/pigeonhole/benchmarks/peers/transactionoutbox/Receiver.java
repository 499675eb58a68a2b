package dev.pigeonhole.benchmarks.peers.transactionoutbox;

/** What the outbox keeps calls of: it needs a public interface, and arguments that it may store. */
public interface Receiver {

  void receive(String id, String payload);
}
