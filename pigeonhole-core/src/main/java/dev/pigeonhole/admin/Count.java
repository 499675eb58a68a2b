package dev.pigeonhole.admin;

import java.util.Locale;

/**
 * How many there are, counted up to a bound so that asking costs the same whatever waits.
 *
 * @param value how many were counted
 * @param more whether there are, or may be, more than that
 */
public record Count(long value, boolean more) {

  /** As far as the counts of an inbox go. */
  public static final int MOST = 10_000;

  /** All there are. */
  public static Count of(long value) {
    return new Count(value, false);
  }

  /** What counting one further than the bound has found. */
  public static Count upTo(long most, long found) {
    return found > most ? new Count(most, true) : of(found);
  }

  /** Both together; there may be more if either says so. */
  public Count plus(Count other) {
    return new Count(value + other.value, more || other.more);
  }

  /** For people: {@code 17}, or {@code 10,000+}. */
  @Override
  public String toString() {
    return String.format(Locale.ROOT, "%,d%s", value, more ? "+" : "");
  }
}
