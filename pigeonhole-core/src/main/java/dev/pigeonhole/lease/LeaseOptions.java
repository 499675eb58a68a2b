package dev.pigeonhole.lease;

import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.event.InboxListener;
import dev.pigeonhole.internal.registry.Payloads;
import dev.pigeonhole.internal.registry.Spans;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Everything a lease guard was told, each value checked when it is given.
 *
 * @param keepReceipts null for ever
 */
record LeaseOptions(
    Duration lease,
    Duration waitAtMost,
    @Nullable Duration keepReceipts,
    int maxAnswer,
    Payloads payloads,
    List<InboxListener> listeners) {
  private static final Duration SHORTEST_LEASE = Duration.ofMillis(100);
  private static final Duration LONGEST_WAIT = Duration.ofMinutes(5);
  private static final int LARGEST_ANSWER = 1_000_000_000;

  LeaseOptions {
    range("lease", lease, SHORTEST_LEASE, Spans.LONGEST_OPTION);
    range("waitAtMost", waitAtMost, Duration.ZERO, LONGEST_WAIT);
    if (keepReceipts != null && !Spans.isMemory(keepReceipts, Spans.SHORTEST_MEMORY)) {
      throw new ConfigurationException(
          ErrorCode.RETENTION_INVALID,
          "keepReceipts is %s; give a time from %s to %s."
              .formatted(keepReceipts, Spans.SHORTEST_MEMORY, Spans.LONGEST_MEMORY));
    }
    if (maxAnswer < 1 || maxAnswer > LARGEST_ANSWER) {
      throw new ConfigurationException(
          ErrorCode.RANGE_INVALID,
          "maxAnswer is %d; give a number from 1 to %d.".formatted(maxAnswer, LARGEST_ANSWER));
    }
  }

  /** The defaults, for a store that can forget or cannot. */
  static LeaseOptions defaults(boolean forgets) {
    return new LeaseOptions(
        Duration.ofSeconds(30),
        Duration.ofSeconds(5),
        forgets ? Duration.ofDays(7) : null,
        64 * 1024,
        Payloads.using(null),
        List.of());
  }

  LeaseOptions lease(Duration time) {
    return new LeaseOptions(time, waitAtMost, keepReceipts, maxAnswer, payloads, listeners);
  }

  LeaseOptions waitAtMost(Duration time) {
    return new LeaseOptions(lease, time, keepReceipts, maxAnswer, payloads, listeners);
  }

  LeaseOptions keepReceipts(@Nullable Duration time) {
    return new LeaseOptions(lease, waitAtMost, time, maxAnswer, payloads, listeners);
  }

  LeaseOptions maxAnswer(int bytes) {
    return new LeaseOptions(lease, waitAtMost, keepReceipts, bytes, payloads, listeners);
  }

  LeaseOptions payloads(Payloads others) {
    return new LeaseOptions(lease, waitAtMost, keepReceipts, maxAnswer, others, listeners);
  }

  LeaseOptions listener(InboxListener more) {
    List<InboxListener> all = new ArrayList<>(listeners);
    all.add(more);
    return new LeaseOptions(lease, waitAtMost, keepReceipts, maxAnswer, payloads, List.copyOf(all));
  }

  private static void range(String what, Duration value, Duration low, Duration high) {
    if (value.compareTo(low) < 0 || value.compareTo(high) > 0) {
      throw new ConfigurationException(
          ErrorCode.RANGE_INVALID,
          "%s is %s; give a duration from %s to %s.".formatted(what, value, low, high));
    }
  }
}
