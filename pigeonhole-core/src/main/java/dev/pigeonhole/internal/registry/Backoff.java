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
 * @param rules other policies for some failures; the first that matches decides
 * @param seed makes the random part reproducible
 */
public record Backoff(
    Duration base,
    Duration cap,
    boolean growing,
    boolean jitter,
    Limits limits,
    List<Rule> rules,
    OptionalLong seed) {

  /** Exponential from 2 s, capped at 5 minutes, 5 attempts. */
  public static final Backoff DEFAULTS =
      new Backoff(
          Duration.ofSeconds(2),
          Duration.ofMinutes(5),
          true,
          true,
          Limits.DEFAULTS,
          List.of(),
          OptionalLong.empty());

  private static final Duration FIRST_UNCOUNTED = Duration.ofMillis(500);
  private static final Duration LONGEST_UNCOUNTED = Duration.ofMinutes(5);

  /**
   * How often a delivery is tried.
   *
   * @param maxAttempts how many attempts that count in all, the first included
   * @param maxUncounted how many attempts may end with an error of the database that does not count
   */
  public record Limits(int maxAttempts, int maxUncounted) {
    public static final Limits DEFAULTS = new Limits(5, 20);
  }

  public int maxAttempts() {
    return limits.maxAttempts();
  }

  public int maxUncounted() {
    return limits.maxUncounted();
  }

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
    return failures >= maxAttempts() ? Optional.empty() : Optional.of(delayAfter(failures, random));
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
    return jittered(growing ? grown(base, failures, cap) : base, random);
  }

  /**
   * The wait after so many attempts that did not count: short at first, as most such errors are. It
   * grows beyond the waits of a policy for quick retries, which would otherwise come to the limit
   * of such attempts within seconds.
   */
  public Duration delayAfterUncounted(int runs, RandomGenerator random) {
    return jittered(grown(FIRST_UNCOUNTED, runs, LONGEST_UNCOUNTED), random);
  }

  /** Doubles with each time, up to the cap. */
  private static Duration grown(Duration first, int times, Duration cap) {
    int doublings = Math.min(Math.max(times - 1, 0), 62);
    // Shifting may overflow long before the cap is reached; compare by shifting the cap back.
    return first.toNanos() <= (cap.toNanos() >> doublings)
        ? Duration.ofNanos(first.toNanos() << doublings)
        : cap;
  }

  private Duration jittered(Duration wait, RandomGenerator random) {
    if (!jitter) {
      return wait;
    }
    long whole = wait.toNanos();
    long half = whole / 2;
    return Duration.ofNanos(half + random.nextLong(whole - half + 1));
  }
}
