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

  private Spans() {}
}
