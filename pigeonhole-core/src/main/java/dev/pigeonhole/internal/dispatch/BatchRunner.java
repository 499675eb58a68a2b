package dev.pigeonhole.internal.dispatch;

import dev.pigeonhole.Batch;
import dev.pigeonhole.Received;
import dev.pigeonhole.internal.registry.BatchSpec;
import dev.pigeonhole.store.CrashPoints;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Runs attempts of a handler that takes several messages with one call. They share a slot and a
 * time limit, and nothing else: each ends for itself.
 */
final class BatchRunner {
  /** What the handler sees; it may hand parts of it to threads of its own. */
  private static final class Together implements Batch<Object> {
    final List<Attempt> attempts;
    final Map<Attempt, Throwable> failures;

    Together(List<Attempt> attempts) {
      this(attempts, Collections.synchronizedMap(new IdentityHashMap<>()));
    }

    private Together(List<Attempt> attempts, Map<Attempt, Throwable> failures) {
      this.attempts = attempts;
      this.failures = failures;
    }

    /** The same without those that an interceptor has refused. */
    Together only(List<Attempt> admitted) {
      return new Together(admitted, failures);
    }

    @Override
    public int size() {
      return attempts.size();
    }

    @Override
    public Iterator<Received<Object>> iterator() {
      return Collections.<Received<Object>>unmodifiableList(attempts).iterator();
    }

    @Override
    public void fail(Received<Object> message, Throwable cause) {
      for (Attempt attempt : attempts) {
        if (attempt == message) {
          failures.put(attempt, Objects.requireNonNull(cause, "cause"));
          return;
        }
      }
      throw new IllegalArgumentException(
          "The message %s is not of this batch.".formatted(message.message()));
    }
  }

  private final Runner runner;
  private final Interception interception;
  private final Timeouts timeouts;

  BatchRunner(Runner runner, Interception interception, Timeouts timeouts) {
    this.runner = runner;
    this.interception = interception;
    this.timeouts = timeouts;
  }

  /** Runs a group to its end on the calling thread. */
  void run(HandlerLine line, BatchSpec spec, List<Work> group) {
    List<Attempt> begun = new ArrayList<>(group.size());
    group.forEach(work -> begun.add(runner.begin(line, work)));
    if (!runner.mayStart(group)) {
      begun.forEach(runner::abandon); // a stop that began in between has not seen them running
      return;
    }
    List<Attempt> readable = readable(begun);
    if (readable.isEmpty()) {
      return;
    }
    Together batch = new Together(readable);
    Attempt lead = readable.get(0);
    Throwable thrown = null;
    try {
      startClock(line, batch, lead);
      CrashPoints.reach("run.before-handler");
      interception.call(
          readable, batch.failures, admitted -> spec.handler().handle(batch.only(admitted)));
      CrashPoints.reach("run.after-handler");
    } catch (Throwable e) {
      thrown = e;
    }
    end(line, batch, lead, thrown);
  }

  /** One that cannot be read fails alone, before the handler is called. */
  private List<Attempt> readable(List<Attempt> attempts) {
    List<Attempt> readable = new ArrayList<>(attempts.size());
    for (Attempt attempt : attempts) {
      try {
        runner.decode(attempt);
        readable.add(attempt);
      } catch (Throwable e) {
        attempt.leave();
        runner.settle(attempt, e);
        runner.reportFatal(e);
      }
    }
    return readable;
  }

  /** The first one's clock is that of all. */
  private void startClock(HandlerLine line, Together batch, Attempt lead) {
    batch.attempts.forEach(Attempt::started);
    Duration timeout = line.handler.spec().timeout();
    if (timeout != null) {
      timeouts.watch(lead, timeout, () -> timedOut(line, batch, lead), () -> {});
    }
  }

  /** On the timer's thread. The slot is stuck once, however many attempts it has. */
  private void timedOut(HandlerLine line, Together batch, Attempt lead) {
    runner.timedOut(line, lead);
    if (lead.state() != Attempt.State.TIMED_OUT) {
      return;
    }
    for (Attempt attempt : batch.attempts) {
      if (attempt != lead && attempt.end(Attempt.State.TIMED_OUT)) {
        attempt.requestStop();
        runner.failedByTimeout(attempt);
      }
    }
  }

  private void end(HandlerLine line, Together batch, Attempt lead, @Nullable Throwable thrown) {
    timeouts.forget(lead);
    batch.attempts.forEach(Attempt::leave);
    timeouts.tidyThread();
    for (Attempt attempt : batch.attempts) {
      Throwable own = batch.failures.get(attempt);
      runner.settle(attempt, own == null ? thrown : own);
    }
    if (lead.state() == Attempt.State.TIMED_OUT) {
      runner.slotFreed(line);
    }
    runner.reportFatal(thrown);
  }
}
