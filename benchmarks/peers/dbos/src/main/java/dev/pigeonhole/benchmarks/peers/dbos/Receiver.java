package dev.pigeonhole.benchmarks.peers.dbos;

/** What DBOS makes a proxy of. */
public interface Receiver {

  void receive(String id, String payload);
}
