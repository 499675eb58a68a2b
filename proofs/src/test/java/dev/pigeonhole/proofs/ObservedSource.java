package dev.pigeonhole.proofs;

import dev.pigeonhole.store.CrashPoints;
import dev.pigeonhole.transport.Acceptor;
import dev.pigeonhole.transport.Disposition;
import dev.pigeonhole.transport.Envelope;
import dev.pigeonhole.transport.MessageSource;
import java.time.Duration;
import java.util.List;

/**
 * A source as it is, with a place to die at that the library does not have: a source that hands in
 * the next messages has acknowledged those before, or is about to.
 */
final class ObservedSource implements MessageSource {
  static final String ACKNOWLEDGED = "test.acknowledged";

  private final MessageSource source;
  private boolean taken; // of the one thread that hands in

  ObservedSource(MessageSource source) {
    this.source = source;
  }

  @Override
  public String name() {
    return source.name();
  }

  @Override
  public void start(Acceptor acceptor) {
    source.start(envelopes -> accept(acceptor, envelopes));
  }

  private List<Disposition> accept(Acceptor acceptor, List<Envelope> envelopes) {
    if (taken) {
      CrashPoints.reach(ACKNOWLEDGED);
    }
    taken = false;
    List<Disposition> answers = acceptor.accept(envelopes);
    taken = true;
    return answers;
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
