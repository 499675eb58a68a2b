package dev.pigeonhole.testkit;

import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;

/**
 * A clock that moves when it is told to, and not before. Starts at 2030-01-01T00:00:00Z, so that
 * times in failed assertions read well. Safe for many threads.
 */
public final class TestClock implements InstantSource {

  /** Where every test clock starts. */
  public static final Instant START = Instant.parse("2030-01-01T00:00:00Z");

  /** Written only by {@link #advance}, one caller at a time. */
  private volatile Instant now = START;

  /** The instant it was moved to last. */
  @Override
  public Instant instant() {
    return now;
  }

  /** The same as {@link #instant()}, for assertions that read aloud. */
  public Instant now() {
    return now;
  }

  /**
   * Moves on and answers the new time.
   *
   * @throws IllegalArgumentException if the duration is negative: a database's clock may jump back,
   *     but a test that wants this should say so with a clock of its own
   */
  public synchronized Instant advance(Duration duration) {
    if (duration.isNegative()) {
      throw new IllegalArgumentException("A test clock only moves forward, not by " + duration);
    }
    now = now.plus(duration);
    return now;
  }

  @Override
  public String toString() {
    return "TestClock at " + now;
  }
}
