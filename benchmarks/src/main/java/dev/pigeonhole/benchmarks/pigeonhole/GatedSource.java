package dev.pigeonhole.benchmarks.pigeonhole;

import dev.pigeonhole.transport.Acceptor;
import dev.pigeonhole.transport.Disposition;
import dev.pigeonhole.transport.Envelope;
import dev.pigeonhole.transport.MessageSource;
import java.time.Duration;
import java.util.List;

/** A source whose first batch waits in front of a gate, so that connecting is not measured. */
record GatedSource(MessageSource source, Gate gate) implements MessageSource {

  @Override
  public String name() {
    return source.name();
  }

  @Override
  public void start(Acceptor acceptor) {
    source.start(envelopes -> pass(envelopes, acceptor));
  }

  private List<Disposition> pass(List<Envelope> envelopes, Acceptor acceptor) {
    try {
      gate.pass();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("Interrupted in front of the gate", e);
    }
    return acceptor.accept(envelopes);
  }

  @Override
  public void pause(String reason) {
    source.pause(reason);
  }

  @Override
  public void resume() {
    source.resume();
  }

  @Override
  public void stop(Duration patience) {
    source.stop(patience);
  }
}
