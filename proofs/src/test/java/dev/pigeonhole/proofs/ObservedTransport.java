package dev.pigeonhole.proofs;

import dev.pigeonhole.store.CrashPoints;
import dev.pigeonhole.transport.Envelope;
import dev.pigeonhole.transport.Sent;
import dev.pigeonhole.transport.Transport;
import java.time.Duration;
import java.util.List;

/** A transport as it is, which says what it does, with places to die at on either side. */
record ObservedTransport(Transport transport) implements Transport {
  static final String BEFORE = "test.before-publish";
  static final String CONFIRMED = "test.confirmed";

  static final String SENDING = "SENDING ";
  static final String SENT = "SENT";

  @Override
  public String kind() {
    return transport.kind();
  }

  @Override
  public String destination() {
    return transport.destination();
  }

  @Override
  public List<Sent> send(List<Envelope> envelopes, Duration timeout) throws InterruptedException {
    CrashPoints.reach(BEFORE);
    System.out.println(SENDING + envelopes.get(0).id().orElseThrow());
    List<Sent> answers = transport.send(envelopes, timeout);
    System.out.println(SENT);
    CrashPoints.reach(CONFIRMED);
    return answers;
  }

  @Override
  public void close() {
    transport.close();
  }
}
