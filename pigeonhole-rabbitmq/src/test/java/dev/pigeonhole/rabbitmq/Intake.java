package dev.pigeonhole.rabbitmq;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.transport.Acceptor;
import dev.pigeonhole.transport.Disposition;
import dev.pigeonhole.transport.Envelope;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Takes what a source brings, remembers it, and answers as the test says. */
final class Intake implements Acceptor {
  static final Duration LIMIT = Duration.ofMinutes(3);
  static final Disposition DONE = new Disposition.Done();

  private final List<Envelope> offered = new ArrayList<>(); // guarded by this, as all below
  private final Set<String> taken = new LinkedHashSet<>();
  private Function<Envelope, Disposition> answers = envelope -> DONE;
  private boolean down;
  private int failures;
  private int batches;
  private int largestBatch;
  private int inside;
  private @Nullable CountDownLatch gate;

  @Override
  public List<Disposition> accept(List<Envelope> envelopes) {
    CountDownLatch closed;
    synchronized (this) {
      offered.addAll(envelopes);
      inside++;
      batches++;
      largestBatch = Math.max(largestBatch, envelopes.size());
      closed = gate;
    }
    pass(closed);
    synchronized (this) {
      inside--;
      if (down) {
        failures++;
        throw new InboxException(ErrorCode.DATABASE_UNREACHABLE, "the store is down");
      }
      List<Disposition> all = new ArrayList<>();
      for (Envelope envelope : envelopes) {
        Disposition answer = answers.apply(envelope);
        if (answer instanceof Disposition.Done) {
          taken.add(envelope.id().orElse(""));
        }
        all.add(answer);
      }
      return all;
    }
  }

  private static void pass(@Nullable CountDownLatch closed) {
    try {
      if (closed != null && !closed.await(LIMIT.toSeconds(), TimeUnit.SECONDS)) {
        throw new IllegalStateException("nobody opened");
      }
    } catch (InterruptedException e) {
      throw new IllegalStateException("interrupted", e);
    }
  }

  synchronized void answer(Function<Envelope, Disposition> answer) {
    answers = answer;
  }

  /** Of this one alone; the function gets how often it has been offered, this time included. */
  void answer(String id, Function<Integer, Disposition> answer) {
    answer(it -> it.id().orElse("").equals(id) ? answer.apply(offers(id)) : DONE);
  }

  static Disposition refused() {
    return new Disposition.Refused(ErrorCode.ID_TOO_LONG, "PH-ID-03: too long");
  }

  static Disposition later() {
    return new Disposition.Later(ErrorCode.HANDLER_FAILED, "not yet");
  }

  synchronized void down(boolean down) {
    this.down = down;
  }

  synchronized int failures() {
    return failures;
  }

  /** How often a source has handed something in. */
  synchronized int batches() {
    return batches;
  }

  synchronized int largestBatch() {
    return largestBatch;
  }

  synchronized void close() {
    gate = new CountDownLatch(1);
  }

  synchronized void open() {
    if (gate != null) {
      gate.countDown();
      gate = null;
    }
  }

  /** Whether a source is in here at this moment. */
  synchronized boolean isBusy() {
    return inside > 0;
  }

  synchronized List<Envelope> offered() {
    return List.copyOf(offered);
  }

  synchronized int offers(String id) {
    return (int) offered.stream().filter(it -> it.id().orElse("").equals(id)).count();
  }

  /** Each once, in the order in which it was first taken. */
  synchronized List<String> taken() {
    return List.copyOf(taken);
  }

  void awaitTaken(String... ids) {
    Eventually.until(
        "these to be taken: " + List.of(ids),
        LIMIT,
        () -> new HashSet<>(taken()).containsAll(List.of(ids)));
  }

  void awaitTaken(int count) {
    Eventually.until(count + " to be taken", LIMIT, () -> taken().size() >= count);
  }

  void awaitOffered(String id) {
    Eventually.until(id + " to be offered", LIMIT, () -> offers(id) > 0);
  }
}
