package dev.pigeonhole;

import dev.pigeonhole.internal.registry.Backoff;
import dev.pigeonhole.internal.registry.Backoff.Limits;
import dev.pigeonhole.internal.registry.Backoff.Rule;
import dev.pigeonhole.internal.registry.Spans;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;

/**
 * When to try again, and when to stop. A value: immutable, every step returns a new one.
 *
 * <p>After failure <i>n</i> the wait is {@code min(base · 2^(n-1), cap)}, of which a random part
 * between a half and the whole is taken, so that what failed together does not come back together.
 * The default waits 1–2 s, 2–4 s, 4–8 s, … up to 5 minutes, and gives up at the fifth failure.
 */
public final class RetryPolicy {
  private final Backoff backoff;

  private RetryPolicy(Backoff backoff) {
    this.backoff = backoff;
  }

  /** Exponential from 2 s, capped at 5 minutes, 5 attempts. */
  public static RetryPolicy defaults() {
    return new RetryPolicy(Backoff.DEFAULTS);
  }

  /** Doubles after each failure, from this wait on; capped at 5 minutes unless told otherwise. */
  public static RetryPolicy exponential(Duration first) {
    Duration cap = Duration.ofMinutes(5).compareTo(first) < 0 ? first : Duration.ofMinutes(5);
    return new RetryPolicy(
        new Backoff(
            positive(first, "first wait"),
            cap,
            true,
            true,
            Limits.DEFAULTS,
            List.of(),
            OptionalLong.empty()));
  }

  /** The same wait after each failure, without jitter. */
  public static RetryPolicy fixed(Duration wait) {
    return new RetryPolicy(
        new Backoff(
            positive(wait, "wait"),
            wait,
            false,
            false,
            Limits.DEFAULTS,
            List.of(),
            OptionalLong.empty()));
  }

  /** No wait is longer than this. */
  public RetryPolicy cappedAt(Duration longest) {
    positive(longest, "cap");
    if (longest.compareTo(backoff.base()) < 0) {
      throw new ConfigurationException(
          ErrorCode.BACKOFF_INVALID,
          "The cap %s of a retry policy is shorter than its first wait %s. Raise the cap."
              .formatted(longest, backoff.base()));
    }
    return with(longest, backoff.jitter(), backoff.limits(), backoff.rules(), backoff.seed());
  }

  /** How many attempts in all, the first included; the last failure poisons. */
  public RetryPolicy maxAttempts(int attempts) {
    if (attempts < 1) {
      throw new ConfigurationException(
          ErrorCode.ATTEMPTS_INVALID,
          "maxAttempts is %d, but the first attempt counts: use 1 to poison on the first failure."
              .formatted(attempts));
    }
    return with(new Limits(attempts, backoff.maxUncounted()));
  }

  /**
   * Limits how many attempts of one delivery may end with an error of the database that does not
   * count as a failure of the handler, such as a deadlock or a lost connection. Such an error ended
   * an attempt of a transactional handler, or the commit of what a plain handler has published.
   *
   * <p>The wait after these attempts doubles from 0.5 s up to 5 minutes, whatever the waits of this
   * policy, so 20 of them take about an hour. Every further attempt that ends like this counts;
   * with 0 all of them count. An attempt that ended before the handler was called never counts, for
   * example because no connection was available. Attempts cut by a shutdown are part of this
   * number. Default 20.
   */
  public RetryPolicy maxUncounted(int runs) {
    if (runs < 0) {
      throw new ConfigurationException(
          ErrorCode.ATTEMPTS_INVALID,
          "maxUncounted is %d: use 0 to count each attempt that the database has cut short."
              .formatted(runs));
    }
    return with(new Limits(backoff.maxAttempts(), runs));
  }

  /** Another policy for failures of this class; the first rule that matches decides. */
  public RetryPolicy on(Class<? extends Throwable> type, RetryPolicy policy) {
    return withRule(new Rule(type, policy.backoff));
  }

  /** Failures of this class are not worth another attempt. */
  public RetryPolicy poisonOn(Class<? extends Throwable> type) {
    return withRule(new Rule(type, null));
  }

  /** Waits are exact: no random part. */
  public RetryPolicy withoutJitter() {
    return with(backoff.cap(), false, backoff.limits(), backoff.rules(), backoff.seed());
  }

  /** Makes the random part reproducible, for tests. */
  public RetryPolicy seededWith(long seed) {
    return with(
        backoff.cap(), backoff.jitter(), backoff.limits(), backoff.rules(), OptionalLong.of(seed));
  }

  /** How many attempts in all, the first included. */
  public int maxAttempts() {
    return backoff.maxAttempts();
  }

  Backoff backoff() {
    return backoff;
  }

  private RetryPolicy withRule(Rule rule) {
    List<Rule> more = new ArrayList<>(backoff.rules());
    more.add(rule);
    return with(
        backoff.cap(), backoff.jitter(), backoff.limits(), List.copyOf(more), backoff.seed());
  }

  private RetryPolicy with(Limits limits) {
    return with(backoff.cap(), backoff.jitter(), limits, backoff.rules(), backoff.seed());
  }

  private RetryPolicy with(
      Duration cap, boolean jitter, Limits limits, List<Rule> rules, OptionalLong seed) {
    return new RetryPolicy(
        new Backoff(backoff.base(), cap, backoff.growing(), jitter, limits, rules, seed));
  }

  private static Duration positive(Duration duration, String what) {
    if (duration.isZero()
        || duration.isNegative()
        || duration.compareTo(Spans.LONGEST_OPTION) > 0) {
      throw new ConfigurationException(
          ErrorCode.BACKOFF_INVALID,
          "The %s of a retry policy is %s; give a duration above zero and up to %s."
              .formatted(what, duration, Spans.LONGEST_OPTION));
    }
    return duration;
  }
}
