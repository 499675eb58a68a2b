package dev.pigeonhole.outbox;

import dev.pigeonhole.transport.Envelope;
import dev.pigeonhole.transport.Sent;
import dev.pigeonhole.transport.Transport;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;

/** A transport that answers as the test says, and remembers what it was given. */
final class Scripted implements Transport {
  private final List<Envelope> given = new ArrayList<>(); // guarded by this, as all below
  private final List<Envelope> confirmed = new ArrayList<>();
  private final List<Duration> timeouts = new ArrayList<>();
  private final List<Integer> sizes = new ArrayList<>();
  private Function<Envelope, Sent> answer = envelope -> new Sent.Confirmed();
  private int closed;

  synchronized Scripted answering(Function<Envelope, Sent> with) {
    answer = with;
    return this;
  }

  Scripted confirming() {
    return answering(envelope -> new Sent.Confirmed());
  }

  Scripted failing() {
    return answering(envelope -> new Sent.Failed(new IllegalStateException("the broker is down")));
  }

  @Override
  public String kind() {
    return "scripted";
  }

  @Override
  public String destination() {
    return "test";
  }

  @Override
  public synchronized List<Sent> send(List<Envelope> envelopes, Duration timeout) {
    List<Sent> outcomes = new ArrayList<>();
    timeouts.add(timeout);
    sizes.add(envelopes.size());
    for (Envelope envelope : envelopes) {
      given.add(envelope);
      Sent outcome = answer.apply(envelope);
      if (outcome instanceof Sent.Confirmed) {
        confirmed.add(envelope);
      }
      outcomes.add(outcome);
    }
    return outcomes;
  }

  @Override
  public synchronized void close() {
    closed++;
  }

  synchronized List<Envelope> given() {
    return List.copyOf(given);
  }

  synchronized List<String> givenIds() {
    return given.stream().map(each -> each.id().orElseThrow()).toList();
  }

  synchronized List<String> confirmedIds() {
    return confirmed.stream().map(each -> each.id().orElseThrow()).toList();
  }

  synchronized List<Duration> timeouts() {
    return List.copyOf(timeouts);
  }

  /** How many it was given at once, each time. */
  synchronized List<Integer> sizes() {
    return List.copyOf(sizes);
  }

  synchronized int closed() {
    return closed;
  }
}
