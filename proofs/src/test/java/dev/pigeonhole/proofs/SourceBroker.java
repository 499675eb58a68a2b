package dev.pigeonhole.proofs;

import dev.pigeonhole.support.JavaProcess;

/** A broker as the proofs of sources see it: with its own client, past the library. */
interface SourceBroker extends AutoCloseable {

  /** Sends a message with this id and returns when the broker has confirmed it. */
  void send(String id) throws Exception;

  /** A worker that receives what was sent; the database and the directory come before its own. */
  JavaProcess.Builder worker(Object... first);

  /** How many workers receive now. */
  int consumers();

  /** How many messages nobody has acknowledged. */
  long left();

  /** How many were put aside; nobody sends anything that should be. */
  long aside();

  @Override
  void close();
}
