package dev.pigeonhole;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * When to try again, and when to stop. A value: immutable, every step returns a new one.
 *
 * <p>After failure <i>n</i> the wait is {@code min(base · 2^(n-1), cap)}, of which a random part
 * between a half and the whole is taken, so that what failed together does not come back together.
 * The default waits 1–2 s, 2–4 s, 4–8 s, … up to 5 minutes, and gives up at the fifth failure.
 */
public final class RetryPolicy {
  /** What happens after a failure. */
  public sealed interface Decision {
    record Retry(Duration delay) implements Decision {}

    record Poison() implements Decision {}
  }

  private record Rule(Class<? extends Throwable> type, @Nullable RetryPolicy policy) {}

  private static final Duration LONGEST = Duration.ofDays(365);

  private final Duration base;
  private final Duration cap;
  private final boolean growing;
  private final boolean jitter;
  private final int maxAttempts;
  private final List<Rule> rules;
  private final OptionalLong seed;

  private RetryPolicy(
      Duration base,
      Duration cap,
      boolean growing,
      boolean jitter,
      int maxAttempts,
      List<Rule> rules,
      OptionalLong seed) {
    this.base = base;
    this.cap = cap;
    this.growing = growing;
    this.jitter = jitter;
    this.maxAttempts = maxAttempts;
    this.rules = rules;
    this.seed = seed;
  }

  /** Exponential from 2 s, capped at 5 minutes, 5 attempts. */
  public static RetryPolicy defaults() {
    return exponential(Duration.ofSeconds(2));
  }

  /** Doubles after each failure, from this wait on; capped at 5 minutes unless told otherwise. */
  public static RetryPolicy exponential(Duration first) {
    Duration cap = Duration.ofMinutes(5).compareTo(first) < 0 ? first : Duration.ofMinutes(5);
    return new RetryPolicy(
        positive(first, "first wait"), cap, true, true, 5, List.of(), OptionalLong.empty());
  }

  /** The same wait after each failure, without jitter. */
  public static RetryPolicy fixed(Duration wait) {
    return new RetryPolicy(
        positive(wait, "wait"), wait, false, false, 5, List.of(), OptionalLong.empty());
  }

  /** No wait is longer than this. */
  public RetryPolicy cappedAt(Duration longest) {
    positive(longest, "cap");
    if (longest.compareTo(base) < 0) {
      throw new ConfigurationException(
          ErrorCode.BACKOFF_INVALID,
          "The cap %s of a retry policy is shorter than its first wait %s. Raise the cap."
              .formatted(longest, base));
    }
    return new RetryPolicy(base, longest, growing, jitter, maxAttempts, rules, seed);
  }

  /** How many attempts in all, the first included; the last failure poisons. */
  public RetryPolicy maxAttempts(int attempts) {
    if (attempts < 1) {
      throw new ConfigurationException(
          ErrorCode.ATTEMPTS_INVALID,
          "maxAttempts is %d, but the first attempt counts: use 1 to poison on the first failure."
              .formatted(attempts));
    }
    return new RetryPolicy(base, cap, growing, jitter, attempts, rules, seed);
  }

  /** Another policy for failures of this class; the first rule that matches decides. */
  public RetryPolicy on(Class<? extends Throwable> type, RetryPolicy policy) {
    return withRule(new Rule(type, policy));
  }

  /** Failures of this class are not worth another attempt. */
  public RetryPolicy poisonOn(Class<? extends Throwable> type) {
    return withRule(new Rule(type, null));
  }

  /** Waits are exact: no random part. */
  public RetryPolicy withoutJitter() {
    return new RetryPolicy(base, cap, growing, false, maxAttempts, rules, seed);
  }

  /** Makes the random part reproducible, for tests. */
  public RetryPolicy seededWith(long seed) {
    return new RetryPolicy(base, cap, growing, jitter, maxAttempts, rules, OptionalLong.of(seed));
  }

  /** The seed of {@link #seededWith}, if any. */
  public OptionalLong seed() {
    return seed;
  }

  /** How many attempts in all, the first included. */
  public int maxAttempts() {
    return maxAttempts;
  }

  /**
   * Decides after a failure.
   *
   * @param failures how often it has failed by now, this time included
   */
  public Decision after(int failures, Throwable cause, RandomGenerator random) {
    for (Rule rule : rules) {
      if (rule.type().isInstance(cause)) {
        RetryPolicy policy = rule.policy();
        return policy == null ? new Decision.Poison() : policy.after(failures, cause, random);
      }
    }
    if (failures >= maxAttempts) {
      return new Decision.Poison();
    }
    return new Decision.Retry(delayAfter(failures, random));
  }

  /** The wait after this many failures. */
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

  private RetryPolicy withRule(Rule rule) {
    List<Rule> more = new ArrayList<>(rules);
    more.add(rule);
    return new RetryPolicy(base, cap, growing, jitter, maxAttempts, List.copyOf(more), seed);
  }

  private static Duration positive(Duration duration, String what) {
    if (duration.isZero() || duration.isNegative() || duration.compareTo(LONGEST) > 0) {
      throw new ConfigurationException(
          ErrorCode.BACKOFF_INVALID,
          "The %s of a retry policy is %s; give a duration above zero and up to %s."
              .formatted(what, duration, LONGEST));
    }
    return duration;
  }
}
