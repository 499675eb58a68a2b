package dev.pigeonhole.micrometer;

import dev.pigeonhole.admin.Count;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.Executor;

/**
 * How gauges ask the store. Immutable; each step returns a new one.
 *
 * @param interval the store is asked no more often than this, however many gauges there are and
 *     however often they are read
 * @param counting how far deliveries are counted: a gauge that shows this number means "at least"
 * @param executor where the store is asked
 */
public record GaugeOptions(Duration interval, int counting, Executor executor) {

  /** Rejects what makes no sense. */
  public GaugeOptions {
    Objects.requireNonNull(executor, "executor");
    if (interval.isNegative() || interval.isZero()) {
      throw new IllegalArgumentException(
          "The interval of gauges is %s; give a positive duration.".formatted(interval));
    }
    if (counting < 1) {
      throw new IllegalArgumentException(
          "Gauges are to count up to %d; give a positive number.".formatted(counting));
    }
  }

  /** Every 15 seconds, up to 10,000, on the thread that reads the gauges. */
  public static GaugeOptions defaults() {
    return new GaugeOptions(Duration.ofSeconds(15), Count.MOST, Runnable::run);
  }

  /** Asks the store this often at most. */
  public GaugeOptions every(Duration time) {
    return new GaugeOptions(time, counting, executor);
  }

  /** Counts this far; what it costs grows with it. */
  public GaugeOptions countingUpTo(int most) {
    return new GaugeOptions(interval, most, executor);
  }

  /**
   * Asks the store on this executor, which is never shut down here: whoever reads gauges then never
   * waits for the database, and sees what was found the time before.
   */
  public GaugeOptions on(Executor other) {
    return new GaugeOptions(interval, counting, other);
  }
}
