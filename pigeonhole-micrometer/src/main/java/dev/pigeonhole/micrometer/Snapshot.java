package dev.pigeonhole.micrometer;

import dev.pigeonhole.admin.Overview;
import io.micrometer.core.instrument.Clock;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BiConsumer;
import java.util.function.Supplier;
import java.util.function.ToDoubleFunction;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What the store said the last time it was asked, for all gauges of one inbox. The first gauge that
 * is read after the interval asks again; there is no thread of its own, and nothing is asked while
 * nobody reads. Where the store could not answer, or has not for three intervals, there is no
 * number: an old one would look like a quiet inbox.
 */
final class Snapshot {
  /** When the question was asked, and the answer; null if it failed. */
  private record Answer(@Nullable Overview overview, long at) {}

  private static final Logger LOG = LoggerFactory.getLogger(Snapshot.class);
  private static final int INTERVALS_UNTIL_OLD = 3;

  private final String name;
  private final Supplier<Overview> store;
  private final BiConsumer<Snapshot, Overview> found;
  private final GaugeOptions options;
  private final Clock clock;
  private final AtomicBoolean asking = new AtomicBoolean();
  private volatile @Nullable Answer last;

  /**
   * @param found sees every answer before any gauge does
   */
  Snapshot(
      String name,
      Supplier<Overview> store,
      BiConsumer<Snapshot, Overview> found,
      GaugeOptions options,
      Clock clock) {
    this.name = name;
    this.store = store;
    this.found = found;
    this.options = options;
    this.clock = clock;
  }

  /** Not a number while nobody knows. */
  double read(ToDoubleFunction<Overview> number) {
    askIfDue();
    Answer answer = last;
    Overview overview =
        answer == null || older(answer, INTERVALS_UNTIL_OLD) ? null : answer.overview;
    return overview == null ? Double.NaN : number.applyAsDouble(overview);
  }

  void askIfDue() {
    Answer answer = last;
    boolean due = answer == null || older(answer, 1);
    if (!due || !asking.compareAndSet(false, true)) {
      return;
    }
    try {
      options.executor().execute(this::ask);
    } catch (RuntimeException e) { // it takes no more work: the answer grows old
      asking.set(false);
      LOG.debug("Nobody asks how {} stands", name, e);
    }
  }

  private boolean older(Answer answer, int intervals) {
    return clock.monotonicTime() - answer.at >= intervals * options.interval().toNanos();
  }

  private void ask() {
    Answer before = last;
    long at = clock.monotonicTime();
    try {
      Overview overview = store.get();
      found.accept(this, overview);
      last = new Answer(overview, at);
    } catch (RuntimeException e) { // whoever reads meters must not hear of it
      if (before == null || before.overview != null) {
        LOG.warn("The gauges of {} have no numbers, because the store does not answer", name, e);
      }
      last = new Answer(null, at);
    } finally {
      asking.set(false);
    }
  }
}
