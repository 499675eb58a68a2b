package dev.pigeonhole.kafka;

import dev.pigeonhole.transport.Acceptor;
import dev.pigeonhole.transport.Disposition;
import dev.pigeonhole.transport.Envelope;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;

/** Takes everything and remembers it, unless the test says otherwise. */
final class Intake implements Acceptor {
  private final List<Envelope> offered = new ArrayList<>(); // guarded by this, as all below
  private final List<Envelope> done = new ArrayList<>();
  private Function<Envelope, Disposition> answer = envelope -> new Disposition.Done();
  private volatile Runnable before = () -> {};

  @Override
  public List<Disposition> accept(List<Envelope> envelopes) {
    before.run();
    synchronized (this) {
      List<Disposition> answers = new ArrayList<>();
      for (Envelope envelope : envelopes) {
        offered.add(envelope);
        Disposition disposition = answer.apply(envelope);
        if (disposition instanceof Disposition.Done) {
          done.add(envelope);
        }
        answers.add(disposition);
      }
      return answers;
    }
  }

  synchronized Intake answering(Function<Envelope, Disposition> answer) {
    this.answer = answer;
    return this;
  }

  /** Runs this first, and throws what it throws, as a store does that is down. */
  Intake before(Runnable action) {
    before = action;
    return this;
  }

  synchronized List<Envelope> done() {
    return List.copyOf(done);
  }

  synchronized List<Envelope> offered() {
    return List.copyOf(offered);
  }

  List<String> ids() {
    return done().stream().map(each -> each.id().orElse("")).toList();
  }

  /** Takes this long, as a store does that hangs. */
  static void hang(Duration time) {
    try {
      TimeUnit.NANOSECONDS.sleep(time.toNanos());
    } catch (InterruptedException e) {
      throw new IllegalStateException("interrupted", e);
    }
  }

  static void hangUntil(CountDownLatch opened) {
    try {
      opened.await();
    } catch (InterruptedException e) {
      throw new IllegalStateException("interrupted", e);
    }
  }
}
