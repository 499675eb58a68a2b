package dev.pigeonhole.benchmarks.peers.dbos;

import dev.dbos.transact.workflow.Workflow;
import dev.pigeonhole.benchmarks.peers.Calls;

/** The workflow of a message, without steps. */
public final class CountingReceiver implements Receiver {

  private final Calls calls;

  CountingReceiver(Calls calls) {
    this.calls = calls;
  }

  @Override
  @Workflow(name = "receive")
  public void receive(String id, String payload) {
    calls.handled(id);
  }
}
