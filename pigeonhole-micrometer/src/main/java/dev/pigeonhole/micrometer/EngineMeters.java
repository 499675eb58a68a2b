package dev.pigeonhole.micrometer;

import dev.pigeonhole.Acceptance;
import dev.pigeonhole.admin.Count;
import dev.pigeonhole.admin.HandlerCounts;
import dev.pigeonhole.admin.HandlerLag;
import dev.pigeonhole.admin.InboxAdmin;
import dev.pigeonhole.admin.Overview;
import dev.pigeonhole.event.InboxEvent;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.DistributionSummary;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.TimeGauge;
import io.micrometer.core.instrument.Timer;
import java.time.Duration;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.ToDoubleFunction;

/** What an inbox and an outbox have in common, because one engine is behind both. */
final class EngineMeters {
  /**
   * Under which names the meters of one kind go.
   *
   * @param transactional whether attempts may be part of a transaction of the store
   */
  record Names(
      String prefix,
      String nameTag,
      String lineTag,
      String accept,
      String deliveries,
      boolean transactional) {}

  static final Names INBOX =
      new Names("pigeonhole.inbox", "inbox", "handler", ".accept", ".deliveries", true);
  static final Names OUTBOX =
      new Names("pigeonhole.outbox", "outbox", "channel", ".publish", ".messages", false);

  /** The states of deliveries that are worth a gauge: completed ones only grow. */
  private static final Map<String, Function<HandlerCounts, Count>> STATES =
      Map.of(
          "pending", HandlerCounts::pending,
          "scheduled", HandlerCounts::scheduled,
          "paused", HandlerCounts::paused,
          "held", HandlerCounts::held,
          "blocked", HandlerCounts::blocked,
          "poisoned", HandlerCounts::poisoned);

  private final MeterRegistry registry;
  private final Names names;
  private final GaugeOptions options;

  /** By inbox and handler, how many attempts ignore their timeout on this node. */
  private final Map<String, Map<String, Integer>> stuck = new ConcurrentHashMap<>();

  EngineMeters(MeterRegistry registry, Names names, GaugeOptions options) {
    this.registry = registry;
    this.names = names;
    this.options = options;
  }

  // ---- from events

  /** A message that was handed in, and has an answer. */
  void answered(InboxEvent.Answered answered, String channel) {
    accept(answered.inbox(), channel, outcome(answered)).record(answered.took());
  }

  /** Messages that were handed in together, and have none. */
  void failed(InboxEvent.AcceptFailed failed, String channel) {
    Timer timer = accept(failed.inbox(), channel, "error");
    for (int i = 0; i < failed.messages(); i++) {
      timer.record(failed.took());
    }
  }

  private Timer accept(String name, String channel, String outcome) {
    return Timer.builder(names.prefix + names.accept)
        .description("Handing over messages, until the caller has an answer")
        .tags(tags(name).and("channel", channel, "outcome", outcome))
        .register(registry);
  }

  private static String outcome(InboxEvent.Answered answered) {
    Acceptance answer = answered.answer();
    if (answer instanceof Acceptance.Accepted) {
      return answered.forNobody() ? "unhandled" : "accepted";
    }
    if (answer instanceof Acceptance.Repeat) {
      return "repeat";
    }
    if (answer instanceof Acceptance.Conflict) {
      return "conflict";
    }
    if (answer instanceof Acceptance.Rejected) {
      return "rejected";
    }
    return answer instanceof Acceptance.Ignored ? "unhandled" : "error";
  }

  void on(InboxEvent event) {
    String name = event.inbox();
    if (event instanceof InboxEvent.Polled polled) {
      poll(name).record(polled.took());
      batchSize(name).record(polled.deliveries());
    } else if (event instanceof InboxEvent.Settled settled) {
      settle(name).record(settled.took());
    } else if (event instanceof InboxEvent.LanesMoved moved) {
      lease(name, moved.move()).increment(moved.lanes());
    } else if (event instanceof InboxEvent.Pruned pruned) {
      pruned(name).increment(pruned.deleted());
    } else if (event instanceof InboxEvent.Uncounted uncounted) {
      uncounted(name, uncounted.handler()).increment();
    } else if (event instanceof InboxEvent.Stuck now) {
      stuck(name, now.handler(), now.stuckNow());
    } else if (event instanceof InboxEvent.Unstuck now) {
      stuck(name, now.handler(), now.stuckNow());
    }
  }

  private void stuck(String name, String handler, int now) {
    leaked(name).put(handler, now);
  }

  /** With its gauge, also where nobody watches the store. */
  private Map<String, Integer> leaked(String name) {
    Map<String, Integer> known = stuck.get(name);
    if (known != null) {
      return known;
    }
    Map<String, Integer> slots = stuck.computeIfAbsent(name, key -> new ConcurrentHashMap<>());
    Gauge.builder(names.prefix + ".leaked.slots", slots, EngineMeters::sum)
        .description("Attempts on this node that ignore their time limit and do not end")
        .tags(tags(name))
        .strongReference(true)
        .register(registry);
    return slots;
  }

  private static double sum(Map<String, Integer> slots) {
    return slots.values().stream().mapToInt(Integer::intValue).sum();
  }

  private Timer poll(String name) {
    return Timer.builder(names.prefix + ".poll")
        .description("Asking the store for work; an idle node does it too")
        .tags(tags(name))
        .register(registry);
  }

  private DistributionSummary batchSize(String name) {
    return DistributionSummary.builder(names.prefix + ".batch.size")
        .description("Deliveries that one poll has brought")
        .baseUnit("deliveries")
        .tags(tags(name))
        .register(registry);
  }

  private Timer settle(String name) {
    return Timer.builder(names.prefix + ".settle")
        .description("Writing down outcomes, many at once")
        .tags(tags(name))
        .register(registry);
  }

  private Counter lease(String name, InboxEvent.Move move) {
    return Counter.builder(names.prefix + ".lease")
        .description("Lanes that this node gained or gave up")
        .baseUnit("lanes")
        .tags(tags(name).and("outcome", word(move)))
        .register(registry);
  }

  private Counter pruned(String name) {
    return Counter.builder(names.prefix + ".pruned")
        .description("Messages that retention has deleted")
        .baseUnit("messages")
        .tags(tags(name))
        .register(registry);
  }

  private Counter uncounted(String name, String handler) {
    return Counter.builder(names.prefix + ".uncounted")
        .description("Attempts that a database error ended, and that do not count")
        .baseUnit("attempts")
        .tags(tags(name).and(names.lineTag, handler))
        .register(registry);
  }

  static String word(Enum<?> value) {
    return value.name().toLowerCase(Locale.ROOT).replace('_', '-');
  }

  // ---- from the store

  /**
   * Registers what can be known before anything happens, so that an alarm finds a zero. Not polls:
   * a node that only accepts never has any, and must not look like one that has died.
   */
  void watch(String name, InboxAdmin admin) {
    settle(name);
    pruned(name);
    leaked(name);
    for (InboxEvent.Move move : InboxEvent.Move.values()) {
      lease(name, move);
    }
    Set<String> counted = ConcurrentHashMap.newKeySet();
    Set<String> timed = ConcurrentHashMap.newKeySet();
    Snapshot snapshot =
        new Snapshot(
            name,
            () -> admin.overview(options.counting()),
            (asking, overview) -> {
              for (HandlerCounts each : overview.counts()) {
                if (counted.add(each.handler())) {
                  deliveries(name, each.handler(), asking);
                  if (names.transactional) {
                    uncounted(name, each.handler());
                  }
                }
              }
              for (HandlerLag each : overview.lag()) {
                if (timed.add(each.handler())) {
                  oldest(name, each.handler(), asking);
                }
              }
            },
            options,
            registry.config().clock());
    lanes(name, "owned", snapshot, Overview::ownedLanes);
    lanes(name, "unowned", snapshot, Overview::unownedLanes);
    Gauge.builder(
            names.prefix + ".conflicts",
            snapshot,
            each -> each.read(overview -> overview.conflicts().value()))
        .description("Second copies with other content or another type that wait for an operator")
        .tags(tags(name))
        .strongReference(true)
        .register(registry);
    snapshot.askIfDue(); // handlers are known from now on, if the store answers
  }

  private void lanes(
      String name, String state, Snapshot snapshot, ToDoubleFunction<Overview> number) {
    Gauge.builder(names.prefix + ".lanes", snapshot, each -> each.read(number))
        .description("Lanes over all handlers, by whether a living node owns them")
        .tags(tags(name).and("state", state))
        .strongReference(true)
        .register(registry);
  }

  private void deliveries(String name, String handler, Snapshot snapshot) {
    STATES.forEach(
        (state, count) ->
            Gauge.builder(
                    names.prefix + names.deliveries,
                    snapshot,
                    each -> each.read(overview -> deliveries(overview, handler, count)))
                .description("Deliveries by state, counted up to a bound")
                .tags(tags(name).and(names.lineTag, handler, "state", state))
                .strongReference(true)
                .register(registry));
  }

  private static double deliveries(
      Overview overview, String handler, Function<HandlerCounts, Count> count) {
    return overview.counts().stream()
        .filter(each -> each.handler().equals(handler))
        .mapToLong(each -> count.apply(each).value())
        .sum();
  }

  private void oldest(String name, String handler, Snapshot snapshot) {
    TimeGauge.builder(
            names.prefix + ".oldest.age",
            snapshot,
            TimeUnit.SECONDS,
            each -> each.read(overview -> age(overview, handler)))
        .description("How long the oldest delivery that could run has been ready")
        .tags(tags(name).and(names.lineTag, handler))
        .strongReference(true)
        .register(registry);
  }

  private static double age(Overview overview, String handler) {
    return overview.lag().stream()
        .filter(each -> each.handler().equals(handler))
        .map(HandlerLag::lag)
        .mapToDouble(EngineMeters::seconds)
        .max()
        .orElse(0);
  }

  private static double seconds(Duration time) {
    return time.toNanos() / 1e9;
  }

  private Tags tags(String name) {
    return Tags.of(names.nameTag, name);
  }
}
