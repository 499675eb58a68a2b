package dev.pigeonhole.jdbc.internal;

import java.time.Duration;
import java.util.Optional;

/**
 * How long the client of a transaction may be silent before the server ends its session, and with
 * it the locks. A process that is paused and a host that is lost say nothing any more, and a server
 * may take hours to find out by itself.
 */
final class Silence {

  /** Between two statements of ours nothing waits. */
  static final Duration OF_THE_LIBRARY = Duration.ofSeconds(5);

  /** For handlers without a time limit. */
  private static final Duration OF_ANY_HANDLER = Duration.ofHours(1);

  /** The engine takes the connection away a second after the limit; this is for lost hosts. */
  private static final Duration BEYOND_A_LIMIT = Duration.ofSeconds(10);

  /** More than servers can count in. */
  private static final Duration LONGEST = Duration.ofDays(20);

  private Silence() {}

  /** For transactions in which code of users runs. */
  static Duration of(Optional<Duration> timeLimit) {
    Duration wanted = timeLimit.map(limit -> limit.plus(BEYOND_A_LIMIT)).orElse(OF_ANY_HANDLER);
    return wanted.compareTo(LONGEST) < 0 ? wanted : LONGEST;
  }
}
