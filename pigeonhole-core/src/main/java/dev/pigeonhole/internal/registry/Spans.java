package dev.pigeonhole.internal.registry;

import java.time.Duration;

/**
 * How long is too long: what lies beyond is a slip of the unit, and some database would refuse it.
 */
public final class Spans {
  /** Of anything that is configured. */
  public static final Duration LONGEST_OPTION = Duration.ofDays(365);

  /** Of anything that a message or a handler asks for: ten years. */
  public static final Duration LONGEST_WAIT = Duration.ofDays(3653);

  /** Of what is kept: less is a slip of the unit, or means "do not keep it at all". */
  public static final Duration SHORTEST_MEMORY = Duration.ofSeconds(1);

  /** A hundred years. */
  public static final Duration LONGEST_MEMORY = Duration.ofDays(36_525);

  private Spans() {}

  /** Whether something can be kept for so long. */
  public static boolean isMemory(Duration time, Duration shortest) {
    return time.compareTo(shortest) >= 0 && time.compareTo(LONGEST_MEMORY) <= 0;
  }
}
