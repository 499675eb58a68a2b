package dev.pigeonhole.internal.registry;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * A retry policy as it was declared, and what it decides.
 *
 * @param base the wait after the first failure
 * @param maxAttempts how many in all, the first included
 * @param rules other policies for some failures; the first that matches decides
 * @param seed makes the random part reproducible
 */
public record Backoff(
    Duration base,
    Duration cap,
    boolean growing,
    boolean jitter,
    int maxAttempts,
    List<Rule> rules,
    OptionalLong seed) {

  /** Exponential from 2 s, capped at 5 minutes, 5 attempts. */
  public static final Backoff DEFAULTS =
      new Backoff(
          Duration.ofSeconds(2),
          Duration.ofMinutes(5),
          true,
          true,
          5,
          List.of(),
          OptionalLong.empty());

  /** Failures of this class follow another policy, or none: then they poison. */
  public record Rule(Class<? extends Throwable> type, @Nullable Backoff backoff) {}

  /**
   * The wait before the next attempt; empty where there is none, and the delivery is poisoned.
   *
   * @param failures how often it has failed by now, this time included
   */
  public Optional<Duration> after(int failures, Throwable cause, RandomGenerator random) {
    for (Rule rule : rules) {
      if (rule.type().isInstance(cause)) {
        Backoff other = rule.backoff();
        return other == null ? Optional.empty() : other.after(failures, cause, random);
      }
    }
    return failures >= maxAttempts ? Optional.empty() : Optional.of(delayAfter(failures, random));
  }

  /** Whether failures of this kind are never worth another attempt. */
  public boolean poisons(Throwable cause) {
    for (Rule rule : rules) {
      if (rule.type().isInstance(cause)) {
        Backoff other = rule.backoff();
        return other == null || other.poisons(cause);
      }
    }
    return false;
  }

  /** The wait after this many failures, whatever they were. */
  public Duration delayAfter(int failures, RandomGenerator random) {
    long first = base.toNanos();
    long whole = first;
    if (growing) {
      whole = cap.toNanos();
      int doublings = Math.min(Math.max(failures - 1, 0), 62);
      // Shifting may overflow long before the cap is reached; compare by shifting the cap back.
      if (first <= (whole >> doublings)) {
        whole = first << doublings;
      }
    }
    if (!jitter) {
      return Duration.ofNanos(whole);
    }
    long half = whole / 2;
    return Duration.ofNanos(half + random.nextLong(whole - half + 1));
  }
}
