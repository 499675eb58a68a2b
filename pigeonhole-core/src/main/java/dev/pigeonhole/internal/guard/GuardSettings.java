package dev.pigeonhole.internal.guard;

import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.ConfigurationException.Problem;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.OnMissingKey;
import dev.pigeonhole.codec.PayloadCodec;
import dev.pigeonhole.event.InboxListener;
import dev.pigeonhole.internal.registry.Names;
import dev.pigeonhole.internal.registry.Spans;
import dev.pigeonhole.transport.Publisher;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Everything a guard was told, checked and frozen.
 *
 * @param keepAnswers null for as long as the receipt
 * @param keepReceipts null for ever
 */
public record GuardSettings(
    String name,
    int lanes,
    Duration waitAtMost,
    Duration timeLimit,
    @Nullable Duration keepAnswers,
    int maxAnswer,
    List<Class<? extends Exception>> keptFailures,
    @Nullable Duration keepReceipts,
    OnMissingKey missingKey,
    @Nullable Publisher outbox,
    List<InboxListener> listeners) {
  private static final Duration SHORTEST_WAIT = Duration.ofMillis(1);

  /** It holds a connection, and no statement runs longer than 30 s. */
  private static final Duration LONGEST_WAIT = Duration.ofSeconds(20);

  /**
   * @throws ConfigurationException if nobody may wait so long, or so short
   */
  static Duration checkWait(Duration time) {
    List<Problem> problems = new ArrayList<>();
    Draft.range(problems, "waitingAtMost", time, SHORTEST_WAIT, LONGEST_WAIT);
    if (!problems.isEmpty()) {
      throw new ConfigurationException(problems);
    }
    return time;
  }

  /** What the builder collects. */
  public static final class Draft {
    public String name = "inbox";
    public int lanes = 64;
    public @Nullable PayloadCodec codec;
    public Duration waitAtMost = Duration.ofSeconds(5);
    public Duration timeLimit = Duration.ofSeconds(30);
    public @Nullable Duration keepAnswers;
    public int maxAnswer = 64 * 1024;
    public final List<Class<? extends Exception>> keptFailures = new ArrayList<>();
    public @Nullable Duration keepReceipts = Duration.ofDays(7);
    public OnMissingKey missingKey = OnMissingKey.REJECT;
    public @Nullable Publisher outbox;
    public final List<InboxListener> listeners = new ArrayList<>();

    GuardSettings freeze() {
      return new GuardSettings(
          name,
          lanes,
          waitAtMost,
          timeLimit,
          keepAnswers,
          maxAnswer,
          List.copyOf(keptFailures),
          keepReceipts,
          missingKey,
          outbox,
          List.copyOf(listeners));
    }

    /** Everything that is out of range, each with the range that is not. */
    List<Problem> problems() {
      List<Problem> problems = new ArrayList<>();
      if (!Names.valid(name)) {
        problems.add(
            new Problem(
                ErrorCode.NAME_INVALID,
                "The inbox name '%s' is not usable. %s".formatted(Names.shown(name), Names.RULE)));
      }
      range(problems, "lanes", lanes, 4_096);
      range(problems, "maxAnswer", maxAnswer, 1_000_000_000);
      range(problems, "waitAtMost", waitAtMost, SHORTEST_WAIT, LONGEST_WAIT);
      range(problems, "timeLimit", timeLimit, Duration.ofMillis(100), Duration.ofHours(1));
      keep(problems, "keepAnswers", keepAnswers);
      keep(problems, "keepReceipts", keepReceipts);
      if (missingKey == OnMissingKey.USE_ID) {
        problems.add(
            new Problem(
                ErrorCode.OPTION_NOT_APPLICABLE,
                "missingKey(USE_ID) is for messages, and a guard has none. Make the key with"
                    + " GuardKey.ofMessage(…), or choose another policy."));
      }
      return problems;
    }

    private static void range(List<Problem> problems, String what, int value, int high) {
      if (value < 1 || value > high) {
        problems.add(
            new Problem(
                ErrorCode.RANGE_INVALID,
                "%s is %d; give a number from 1 to %d.".formatted(what, value, high)));
      }
    }

    private static void range(
        List<Problem> problems, String what, Duration value, Duration low, Duration high) {
      if (value.compareTo(low) < 0 || value.compareTo(high) > 0) {
        problems.add(
            new Problem(
                ErrorCode.RANGE_INVALID,
                "%s is %s; give a duration from %s to %s.".formatted(what, value, low, high)));
      }
    }

    private static void keep(List<Problem> problems, String what, @Nullable Duration time) {
      if (time != null && !Spans.isMemory(time, Spans.SHORTEST_MEMORY)) {
        problems.add(
            new Problem(
                ErrorCode.RETENTION_INVALID,
                "%s is %s; give a time from %s to %s."
                    .formatted(what, time, Spans.SHORTEST_MEMORY, Spans.LONGEST_MEMORY)));
      }
    }
  }
}
