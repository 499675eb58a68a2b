package dev.pigeonhole.tck;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.transport.Acceptor;
import dev.pigeonhole.transport.Disposition;
import dev.pigeonhole.transport.Envelope;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Takes what a source brings, remembers it, and answers as the test says. */
final class Receiver implements Acceptor {
  private static final Disposition DONE = new Disposition.Done();

  private final List<List<Envelope>> offered = new ArrayList<>(); // guarded by this, as all below
  private final List<Envelope> taken = new ArrayList<>();
  private final Map<String, Function<Integer, Disposition>> answers = new HashMap<>();
  private final Map<String, Integer> offers = new HashMap<>();
  private @Nullable CountDownLatch gate;
  private int failures;
  private int inside;

  @Override
  public List<Disposition> accept(List<Envelope> envelopes) {
    CountDownLatch closed;
    synchronized (this) {
      inside++;
      offered.add(List.copyOf(envelopes));
      closed = gate;
    }
    try {
      if (closed != null) {
        pass(closed);
      }
      return answer(envelopes);
    } finally {
      synchronized (this) {
        inside--;
      }
    }
  }

  private static void pass(CountDownLatch closed) {
    try {
      if (!closed.await(120, TimeUnit.SECONDS)) {
        throw new IllegalStateException("nobody opened");
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted", e);
    }
  }

  private synchronized List<Disposition> answer(List<Envelope> envelopes) {
    if (failures > 0) {
      failures--;
      throw new IllegalStateException("the store is down");
    }
    List<Disposition> all = new ArrayList<>();
    for (Envelope envelope : envelopes) {
      String id = envelope.id().orElse("");
      int offer = offers.merge(id, 1, Integer::sum);
      Disposition answer = answers.getOrDefault(id, count -> DONE).apply(offer);
      if (answer instanceof Disposition.Done) {
        taken.add(envelope);
      }
      all.add(answer);
    }
    return all;
  }

  /** The next so many calls fail, as they do while the store is down. */
  synchronized void failTimes(int calls) {
    failures = calls;
  }

  synchronized int failuresLeft() {
    return failures;
  }

  /** This one is answered so; the function gets how often it has been offered. */
  synchronized void answer(String id, Function<Integer, Disposition> answer) {
    answers.put(id, answer);
  }

  synchronized void refuse(String id) {
    answer(id, offer -> new Disposition.Refused(ErrorCode.ID_TOO_LONG, "PH-ID-03: too long"));
  }

  /** Whoever comes in from now on waits until it is opened. */
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
  synchronized boolean busy() {
    return inside > 0;
  }

  synchronized int calls() {
    return offered.size();
  }

  synchronized int largestBatch() {
    return offered.stream().mapToInt(List::size).max().orElse(0);
  }

  synchronized int offers(String id) {
    return (int)
        offered.stream()
            .flatMap(List::stream)
            .filter(each -> each.id().orElse("").equals(id))
            .count();
  }

  /** What was answered as done, in order. */
  synchronized List<Envelope> taken() {
    return List.copyOf(taken);
  }

  synchronized List<String> ids() {
    return taken.stream().map(each -> each.id().orElse("")).toList();
  }

  synchronized boolean hasTaken(List<String> ids) {
    return ids().containsAll(ids);
  }

  /** The last copy of this one that was handed in. */
  synchronized Envelope last(String id) {
    return offered.stream()
        .flatMap(List::stream)
        .filter(each -> each.id().orElse("").equals(id))
        .reduce((first, second) -> second)
        .orElseThrow();
  }
}
