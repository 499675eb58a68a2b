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

  /** As people say it, with two units at most: 80 ms, 2.5 s, 3 min, 1 h 20 min. */
  public static String shown(Duration time) {
    long millis = time.toMillis();
    if (millis < 1_000) {
      return millis + " ms";
    }
    if (millis < 60_000) {
      long tenths = millis / 100;
      return tenths % 10 == 0 ? tenths / 10 + " s" : tenths / 10 + "." + tenths % 10 + " s";
    }
    if (time.toHours() == 0) {
      return units(time.toMinutes(), "min", time.toSecondsPart(), "s");
    }
    return time.toDays() == 0
        ? units(time.toHours(), "h", time.toMinutesPart(), "min")
        : units(time.toDays(), "d", time.toHoursPart(), "h");
  }

  private static String units(long whole, String unit, int rest, String smaller) {
    return rest == 0
        ? "%d %s".formatted(whole, unit)
        : "%d %s %d %s".formatted(whole, unit, rest, smaller);
  }

  /** Whether something can be kept for so long. */
  public static boolean isMemory(Duration time, Duration shortest) {
    return time.compareTo(shortest) >= 0 && time.compareTo(LONGEST_MEMORY) <= 0;
  }
}
