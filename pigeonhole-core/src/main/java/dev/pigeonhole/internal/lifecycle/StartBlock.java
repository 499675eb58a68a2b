package dev.pigeonhole.internal.lifecycle;

import dev.pigeonhole.InboxException;
import dev.pigeonhole.OnConflict;
import dev.pigeonhole.OnMissingId;
import dev.pigeonhole.OnMissingKey;
import dev.pigeonhole.Unhandled;
import dev.pigeonhole.internal.prune.Retention;
import dev.pigeonhole.internal.registry.ChannelSpec;
import dev.pigeonhole.internal.registry.HandlerSpec;
import dev.pigeonhole.internal.registry.Keep;
import dev.pigeonhole.internal.registry.Names;
import dev.pigeonhole.internal.registry.Registry;
import dev.pigeonhole.internal.registry.TypeSpec;
import dev.pigeonhole.store.HandlerId;
import dev.pigeonhole.store.InboxStore;
import dev.pigeonhole.store.NodeRow;
import dev.pigeonhole.store.StoreDescription;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * What an inbox says once when it starts: what one wants to know first when something is odd later.
 * One text, always in the same order; it asks the store a few questions, and a store that does not
 * answer keeps nobody from starting.
 */
final class StartBlock {
  /** More keys that nobody knows are not looked at, and no more deliveries of one are counted. */
  private static final int MOST_KEYS = 50;

  private static final int MOST_DELIVERIES = 1_000;

  private final InboxStore store;
  private final InboxSettings settings;
  private final List<ChannelSpec> channels;
  private final Registry registry;
  private final String node;
  private final StringBuilder text = new StringBuilder();

  StartBlock(
      InboxStore store,
      InboxSettings settings,
      List<ChannelSpec> channels,
      Registry registry,
      String node) {
    this.store = store;
    this.settings = settings;
    this.channels = channels;
    this.registry = registry;
    this.node = node;
  }

  String text() {
    StoreDescription described = described();
    text.append("Inbox ").append(settings.name()).append(" is running");
    line("library: Pigeonhole %s on Java %s".formatted(version(), Runtime.version()));
    line("node: " + node);
    line("store: " + described.what());
    line("lanes: " + settings.lanes());
    line("retention: " + retention());
    list("sources", sources());
    list("handlers", handlers());
    list("keys in the database that nobody knows", unknownKeys());
    list("unsafe", unsafe(described));
    return text.toString();
  }

  private void line(String line) {
    text.append("\n  ").append(line);
  }

  private void list(String title, List<String> lines) {
    if (lines.isEmpty()) {
      line(title + ": none");
      return;
    }
    line(title + ":");
    lines.forEach(each -> text.append("\n    ").append(each));
  }

  /** Only a jar knows its version. */
  private static String version() {
    String version = StartBlock.class.getPackage().getImplementationVersion();
    return version == null ? "(not from a jar)" : version;
  }

  private StoreDescription described() {
    try {
      return store.describe();
    } catch (RuntimeException e) {
      return new StoreDescription("unknown: " + shown(e), List.of());
    }
  }

  private String retention() {
    Retention.Times keep = settings.keep();
    List<String> times = new ArrayList<>();
    if (keep.receipts() != null) {
      times.add("keepReceipts " + keep.receipts());
    }
    if (keep.payload() != null) {
      times.add("keepPayload " + keep.payload());
    }
    if (keep.poisoned() != null) {
      times.add("keepPoisoned " + keep.poisoned());
    }
    for (ChannelSpec channel : channels) {
      for (TypeSpec type : channel.types()) {
        addOwn(times, "type " + Names.shown(type.name()), type.keep());
        for (HandlerSpec handler : type.handlers()) {
          addOwn(times, "handler " + handler.key().key(), handler.keep());
        }
      }
    }
    return times.isEmpty() ? "everything is kept" : String.join(", ", times);
  }

  private static void addOwn(List<String> times, String whose, Keep keep) {
    if (keep.receipts() != null) {
      times.add("%s keepReceipts %s".formatted(whose, keep.receipts()));
    }
    if (keep.payload() != null) {
      times.add("%s keepPayload %s".formatted(whose, keep.payload()));
    }
  }

  private List<String> sources() {
    return settings.feeds().stream()
        .map(
            feed ->
                "%s for channel %s".formatted(Names.shown(feed.source().name()), feed.channel()))
        .toList();
  }

  private List<String> handlers() {
    List<String> lines = new ArrayList<>();
    for (ChannelSpec channel : channels) {
      for (TypeSpec type : channel.types()) {
        for (HandlerSpec handler : type.handlers()) {
          List<String> former = handler.key().formerKeys();
          lines.add(
              "%s%s of channel %s, type %s%s%s"
                  .formatted(
                      handler.key().key(),
                      former.isEmpty() ? "" : " (formerly " + String.join(", ", former) + ")",
                      channel.name(),
                      Names.shown(type.name()),
                      handler.isTransactional() ? ", in a transaction" : "",
                      handler.inline() ? ", inline" : ""));
        }
      }
    }
    return lines;
  }

  /**
   * Keys with open work that nobody can run. A key is known to somebody if a living node can run
   * its family, and this is one of them.
   */
  private List<String> unknownKeys() {
    try {
      Set<Integer> known = new HashSet<>(registry.families());
      for (NodeRow row : store.admin().nodes()) {
        if (row.alive()) {
          known.addAll(row.handlers());
        }
      }
      Map<Integer, List<String>> unknown =
          store.maintenance().handlers().stream()
              .filter(id -> !known.contains(id.family()))
              .collect(
                  Collectors.groupingBy(
                      HandlerId::family,
                      TreeMap::new,
                      Collectors.mapping(HandlerId::key, Collectors.toList())));
      return withCounts(unknown);
    } catch (RuntimeException e) {
      return List.of("could not be read: " + shown(e));
    }
  }

  private List<String> withCounts(Map<Integer, List<String>> unknown) {
    List<Integer> asked = unknown.keySet().stream().limit(MOST_KEYS).toList();
    if (asked.isEmpty()) {
      return List.of();
    }
    Map<Integer, Integer> open = store.maintenance().unsettled(asked, MOST_DELIVERIES + 1);
    List<String> lines = new ArrayList<>();
    for (Integer family : asked) {
      int count = open.getOrDefault(family, 0);
      if (count == 0) {
        continue; // the name of a guard, or of a handler that has gone with its work done
      }
      lines.add(
          "%s: %s open"
              .formatted(
                  String.join(", ", unknown.getOrDefault(family, List.of())),
                  count > MOST_DELIVERIES ? MOST_DELIVERIES + "+" : count));
    }
    lines.sort(null);
    if (unknown.size() > asked.size()) {
      lines.add("and %d more, not looked at".formatted(unknown.size() - asked.size()));
    }
    return lines;
  }

  /**
   * Every choice by which a message can be lost, or handled twice, without anything being broken.
   */
  private List<String> unsafe(StoreDescription described) {
    List<String> lines = new ArrayList<>(described.unsafe());
    for (ChannelSpec channel : channels) {
      unsafe(channel, lines);
    }
    if (settings.holdUnknownKeys().isZero()) {
      lines.add(
          "holdUnknownKeys(0): a key that is deployed a little later finds its work poisoned");
    }
    if (settings.keep().poisoned() != null) {
      lines.add(
          "keepPoisoned(%s): poisoned deliveries are deleted after it"
              .formatted(settings.keep().poisoned()));
    }
    lines.addAll(Horizons.warnings(settings, channels));
    return lines;
  }

  private static void unsafe(ChannelSpec channel, List<String> lines) {
    String where = "channel %s: ".formatted(channel.name());
    if (channel.onConflict() == OnConflict.REPEAT) {
      lines.add(
          where + "onConflict(REPEAT): other content or another type under a known id is dropped");
    } else if (channel.onConflict() == OnConflict.REJECT) {
      lines.add(
          where + "onConflict(REJECT): other content or another type under a known id is not kept");
    }
    if (channel.unhandled() == Unhandled.IGNORE) {
      lines.add(where + "unhandled(IGNORE): what nobody handles is dropped");
    }
    if (channel.onMissingId() == OnMissingId.HASH_CONTENT) {
      lines.add(where + "onMissingId(HASH_CONTENT): equal content without an id is handled once");
    } else if (channel.onMissingId() == OnMissingId.ACCEPT_EVERY_COPY) {
      lines.add(where + "onMissingId(ACCEPT_EVERY_COPY): every copy without an id is handled");
    }
    for (TypeSpec type : channel.types()) {
      String which = where + "type " + Names.shown(type.name()) + ", ";
      if (type.key().isContent()) {
        lines.add(which + "@Idempotent without a key: equal content is handled once");
      }
      if (type.onMissingKey() == OnMissingKey.ACCEPT_EVERY_COPY) {
        lines.add(which + "missingKey(ACCEPT_EVERY_COPY): every copy without a key is handled");
      } else if (type.onMissingKey() == OnMissingKey.HASH_CONTENT) {
        lines.add(which + "missingKey(HASH_CONTENT): equal content without a key is handled once");
      }
    }
  }

  /** Not its text, which may hold anything that a driver or a pool knows. */
  private static String shown(RuntimeException e) {
    return e instanceof InboxException known ? known.code().text() : e.getClass().getSimpleName();
  }
}
