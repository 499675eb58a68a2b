package dev.pigeonhole.internal.lifecycle;

import dev.pigeonhole.ConfigurationException.Problem;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.Interceptor;
import dev.pigeonhole.Message;
import dev.pigeonhole.PruneListener;
import dev.pigeonhole.codec.PayloadCodec;
import dev.pigeonhole.event.InboxListener;
import dev.pigeonhole.internal.prune.Retention;
import dev.pigeonhole.internal.registry.Backoff;
import dev.pigeonhole.internal.registry.Spans;
import dev.pigeonhole.transport.MessageSource;
import dev.pigeonhole.transport.Publisher;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/** Everything an inbox was told, checked and frozen. */
public record InboxSettings(
    String name,
    @Nullable PayloadCodec codec,
    Backoff retry,
    int concurrency,
    int lanes,
    Duration beat,
    Duration deadAfter,
    Duration pollMin,
    Duration pollMax,
    int batchSize,
    int maxPayload,
    int maxHeaders,
    int maxHeaderBytes,
    Duration holdUnknownKeys,
    int maxCrashes,
    Duration restartDelay,
    Duration stopGrace,
    int maxBacklog,
    int maxHandlerBacklog,
    List<Sources.Feed> feeds,
    @Nullable Executor executor,
    List<UnaryOperator<Message>> stamps,
    List<Interceptor> interceptors,
    @Nullable Publisher outbox,
    Retention.Times keep,
    List<PruneListener> pruneListeners,
    List<InboxListener> listeners) {

  /**
   * No delivery starts later than this after the last successful beat was sent: one eighth before
   * the others may take the node for dead.
   */
  public Duration startLimit() {
    return deadAfter.multipliedBy(7).dividedBy(8);
  }

  /** What the builder collects. */
  public static final class Draft {
    private static final Duration LONGEST = Spans.LONGEST_OPTION;

    public String name = "inbox";
    public @Nullable PayloadCodec codec;
    public Backoff retry = Backoff.DEFAULTS;
    public int concurrency = 8;
    public int lanes = 64;
    public Duration beat = Duration.ofSeconds(2);
    public Duration deadAfter = Duration.ofSeconds(8);
    public Duration pollMin = Duration.ofMillis(100);
    public Duration pollMax = Duration.ofSeconds(1);
    public int batchSize = 500;
    public int maxPayload = 1_000_000;
    public int maxHeaders = 200;
    public int maxHeaderBytes = 64 * 1024;
    public Duration holdUnknownKeys = Duration.ofMinutes(10);
    public int maxCrashes = 3;
    public Duration restartDelay = Duration.ofSeconds(5);
    public Duration stopGrace = Duration.ofSeconds(25);
    public int maxBacklog = 50_000;
    public int maxHandlerBacklog = 10_000;
    private final List<Sources.Feed> feeds = new ArrayList<>();
    public @Nullable Executor executor;
    public final List<UnaryOperator<Message>> stamps = new ArrayList<>();
    public final List<Interceptor> interceptors = new ArrayList<>();
    public @Nullable Publisher outbox;
    public @Nullable Duration keepReceipts;
    public @Nullable Duration keepPayload;
    public @Nullable Duration keepPoisoned;
    public final List<PruneListener> pruneListeners = new ArrayList<>();
    public final List<InboxListener> listeners = new ArrayList<>();

    public void feed(String channel, MessageSource source) {
      feeds.add(new Sources.Feed(channel, source));
    }

    InboxSettings freeze() {
      return new InboxSettings(
          name,
          codec,
          retry,
          concurrency,
          lanes,
          beat,
          deadAfter,
          pollMin,
          pollMax,
          batchSize,
          maxPayload,
          maxHeaders,
          maxHeaderBytes,
          holdUnknownKeys,
          maxCrashes,
          restartDelay,
          stopGrace,
          maxBacklog,
          maxHandlerBacklog,
          List.copyOf(feeds),
          executor,
          List.copyOf(stamps),
          List.copyOf(interceptors),
          outbox,
          new Retention.Times(keepReceipts, keepPayload, keepPoisoned),
          List.copyOf(pruneListeners),
          List.copyOf(listeners));
    }

    /** Everything that is out of range, each with the range that is not. */
    List<Problem> problems() {
      List<Problem> problems = new ArrayList<>();
      range(problems, "concurrency", concurrency, 1, 10_000);
      range(problems, "lanes", lanes, 1, 4_096);
      range(problems, "batchSize", batchSize, 1, 10_000);
      range(problems, "maxPayload", maxPayload, 1, 1_000_000_000);
      range(problems, "maxHeaders", maxHeaders, 0, 100_000);
      range(problems, "maxHeaders bytes", maxHeaderBytes, 0, 16_000_000);
      range(problems, "maxBacklog", maxBacklog, 1, 1_000_000_000);
      range(problems, "maxHandlerBacklog", maxHandlerBacklog, 1, 1_000_000);
      range(problems, "maxCrashes", maxCrashes, 1, 1_000);
      keep(problems, "keepReceipts", keepReceipts, Spans.SHORTEST_MEMORY);
      keep(problems, "keepPayload", keepPayload, Spans.SHORTEST_MEMORY);
      keep(problems, "keepPoisoned", keepPoisoned, Duration.ofDays(30));
      range(problems, "polling", pollMin, Duration.ofMillis(1));
      range(problems, "restartDelay", restartDelay, Duration.ZERO);
      range(problems, "stopGrace", stopGrace, Duration.ZERO);
      range(problems, "holdUnknownKeys", holdUnknownKeys, Duration.ZERO);
      if (pollMax.compareTo(pollMin) < 0) {
        problems.add(
            new Problem(
                ErrorCode.RANGE_INVALID,
                "polling(%s, %s) goes down; give the shorter wait first."
                    .formatted(pollMin, pollMax)));
      } else {
        range(problems, "polling", pollMax, Duration.ZERO);
      }
      if (beat.compareTo(LONGEST) > 0 || deadAfter.compareTo(LONGEST) > 0) {
        problems.add(
            new Problem(
                ErrorCode.BEAT_INVALID,
                "beat is %s and deadAfter is %s; neither may be longer than %s."
                    .formatted(beat, deadAfter, LONGEST)));
      } else if (beat.compareTo(Duration.ofMillis(10)) < 0
          || deadAfter.compareTo(beat.multipliedBy(3)) < 0) {
        problems.add(
            new Problem(
                ErrorCode.BEAT_INVALID,
                ("beat is %s and deadAfter is %s. A beat takes at least 10 ms, and deadAfter at"
                        + " least three beats: a node must be able to miss one and live. Raise"
                        + " deadAfter to %s.")
                    .formatted(beat, deadAfter, beat.multipliedBy(3))));
      }
      return problems;
    }

    private static void range(List<Problem> problems, String what, int value, int low, int high) {
      if (value < low || value > high) {
        problems.add(
            new Problem(
                ErrorCode.RANGE_INVALID,
                "%s is %d; give a number from %d to %d.".formatted(what, value, low, high)));
      }
    }

    private static void keep(
        List<Problem> problems, String option, @Nullable Duration time, Duration shortest) {
      if (time != null && !Spans.isMemory(time, shortest)) {
        problems.add(
            new Problem(
                ErrorCode.RETENTION_INVALID,
                "%s is %s; give a time from %s to %s, or leave it out to keep everything."
                    .formatted(option, time, shortest, Spans.LONGEST_MEMORY)));
      }
    }

    private static void range(List<Problem> problems, String what, Duration value, Duration low) {
      if (value.compareTo(low) < 0 || value.compareTo(LONGEST) > 0) {
        problems.add(
            new Problem(
                ErrorCode.RANGE_INVALID,
                "%s is %s; give a duration from %s to %s.".formatted(what, value, low, LONGEST)));
      }
    }
  }
}
