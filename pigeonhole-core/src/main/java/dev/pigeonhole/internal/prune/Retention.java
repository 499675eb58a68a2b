package dev.pigeonhole.internal.prune;

import dev.pigeonhole.Headers;
import dev.pigeonhole.MessageRef;
import dev.pigeonhole.PruneListener;
import dev.pigeonhole.PrunedMessage;
import dev.pigeonhole.internal.registry.BoundHandler;
import dev.pigeonhole.internal.registry.ChannelSpec;
import dev.pigeonhole.internal.registry.HandlerSpec;
import dev.pigeonhole.internal.registry.HeaderFormat;
import dev.pigeonhole.internal.registry.Keep;
import dev.pigeonhole.internal.registry.Registry;
import dev.pigeonhole.internal.registry.TypeSpec;
import dev.pigeonhole.store.NewMessage;
import dev.pigeonhole.store.Pruning;
import dev.pigeonhole.store.StoredMessage;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * How long what is kept. A message goes as a whole, once every receipt of it is old enough; where a
 * handler or a type has a time of its own, or a guard has promised one, the longer one decides.
 */
public final class Retention implements Pruning {
  /**
   * What was asked for.
   *
   * @param receipts null for ever
   * @param payload null for as long as the message
   * @param poisoned null for ever
   */
  public record Times(
      @Nullable Duration receipts, @Nullable Duration payload, @Nullable Duration poisoned) {}

  /** Long enough for whoever repeats a change by its name, or asks what came of it. */
  public static final Duration OPERATIONS = Duration.ofDays(90);

  private static final Duration SHORTEST_PAUSE = Duration.ofSeconds(1);
  private static final Duration LONGEST_PAUSE = Duration.ofHours(1);

  private final Times times;
  private final List<PruneListener> listeners;
  private final Map<String, Keep> ofTypes = new HashMap<>();
  private final Map<Integer, Keep> ofHandlers = new HashMap<>();
  private final @Nullable Duration ofAnyType;

  public Retention(Times times, Registry registry, List<PruneListener> listeners) {
    this.times = times;
    this.listeners = listeners;
    for (ChannelSpec channel : registry.channels()) {
      for (TypeSpec type : channel.types()) {
        type.names().forEach(name -> ofTypes.merge(name, type.keep(), Retention::longer));
      }
    }
    this.ofAnyType = longestOfTypes();
    for (BoundHandler handler : registry.handlers()) {
      Keep own = handler.spec().keep();
      handler.ids().forEach(id -> ofHandlers.merge(id.family(), own, Retention::longer));
    }
  }

  /** Whether anything was asked for. */
  public boolean wanted() {
    return !all().isEmpty();
  }

  private List<Duration> all() {
    Stream<Keep> own = Stream.concat(ofTypes.values().stream(), ofHandlers.values().stream());
    return Stream.concat(Stream.of(new Keep(times.receipts(), times.payload())), own)
        .flatMap(keep -> Stream.of(keep.receipts(), keep.payload()))
        .filter(Objects::nonNull)
        .toList();
  }

  @Override
  public Walk walk() {
    return Walk.INBOX;
  }

  @Override
  public Duration youngest() {
    return all().stream().min(Duration::compareTo).orElse(Duration.ofDays(36_500));
  }

  /**
   * A receipt is not older than its message, so no handler lets the message go before the shortest
   * time that counts for its type.
   */
  @Override
  public boolean due(String type, Instant receivedAt, Instant now, boolean hasContent) {
    Duration age = Duration.between(receivedAt, now);
    return reaches(age, shortest(type, times.receipts(), Keep::receipts))
        || (hasContent && reaches(age, shortest(type, times.payload(), Keep::payload)));
  }

  private static boolean reaches(Duration age, @Nullable Duration kept) {
    return kept != null && age.compareTo(kept) >= 0;
  }

  /** Where a type has a time of its own, the handler's can only be longer; null for ever. */
  private @Nullable Duration shortest(
      String type, @Nullable Duration ofInbox, Function<Keep, @Nullable Duration> which) {
    Duration own = which.apply(ofType(type));
    if (own != null) {
      return own;
    }
    return Stream.concat(Stream.of(new Keep(ofInbox, ofInbox)), ofHandlers.values().stream())
        .map(which)
        .filter(Objects::nonNull)
        .min(Duration::compareTo)
        .orElse(null);
  }

  /** Often enough that little outlives its time, seldom enough that walking costs nothing. */
  @Override
  public Duration betweenRounds() {
    return betweenRounds(youngest());
  }

  /** The pause between two walks for what is kept so long. */
  public static Duration betweenRounds(Duration kept) {
    Duration pause = kept.dividedBy(20);
    if (pause.compareTo(SHORTEST_PAUSE) < 0) {
      return SHORTEST_PAUSE;
    }
    return pause.compareTo(LONGEST_PAUSE) > 0 ? LONGEST_PAUSE : pause;
  }

  @Override
  public Fate judge(Finished message) {
    if (!poisonMayGo(message)) {
      return Fate.KEEP;
    }
    if (mayGo(message) && !message.promised()) {
      return Fate.DELETE;
    }
    return payloadMayGo(message) ? Fate.DROP_CONTENT : Fate.KEEP;
  }

  @Override
  public Duration keepOperations() {
    return OPERATIONS;
  }

  private boolean poisonMayGo(Finished message) {
    Duration kept = times.poisoned();
    return message.poisoned().isEmpty()
        || (kept != null
            && message.poisoned().values().stream()
                .allMatch(at -> olderThan(kept, at, message.now())));
  }

  private boolean mayGo(Finished message) {
    if (message.completed().isEmpty()) {
      Duration kept = kept(times.receipts(), ofType(message.type()).receipts(), null);
      return kept != null && olderThan(kept, message.receivedAt(), message.now());
    }
    return everyReceiptIsOlder(message, times.receipts(), Keep::receipts);
  }

  private boolean everyReceiptIsOlder(
      Finished message, @Nullable Duration ofInbox, Function<Keep, @Nullable Duration> which) {
    Duration ofType = which.apply(ofType(message.type()));
    for (Map.Entry<Integer, Instant> receipt : message.completed().entrySet()) {
      Keep ofHandler = ofHandlers.getOrDefault(receipt.getKey(), Keep.AS_INBOX);
      Duration kept = kept(ofInbox, ofType, which.apply(ofHandler));
      if (kept == null || !olderThan(kept, receipt.getValue(), message.now())) {
        return false;
      }
    }
    return true;
  }

  private Keep ofType(String type) {
    Keep own = ofTypes.get(type);
    if (own == null && type.equals(NewMessage.UNKNOWN_TYPE)) {
      return new Keep(ofAnyType, null); // a guard saw it first, and it may be of any
    }
    return own == null ? Keep.AS_INBOX : own;
  }

  /** The longest time of any type; null where one is kept for ever. */
  private @Nullable Duration longestOfTypes() {
    Duration longest = times.receipts();
    for (Keep each : ofTypes.values()) {
      Duration kept = each.receipts() == null ? times.receipts() : each.receipts();
      if (kept == null) {
        return null;
      }
      longest = longerOf(longest, kept);
    }
    return longest;
  }

  /** How long messages of this type are known after their last completion; null for ever. */
  public static @Nullable Duration memory(Times times, TypeSpec type) {
    Duration longest = null;
    for (HandlerSpec handler : type.handlers()) {
      Duration kept = kept(times.receipts(), type.keep().receipts(), handler.keep().receipts());
      if (kept == null) {
        return null;
      }
      longest = longerOf(longest, kept);
    }
    return longest == null ? kept(times.receipts(), type.keep().receipts(), null) : longest;
  }

  private static @Nullable Duration kept(
      @Nullable Duration ofInbox, @Nullable Duration ofType, @Nullable Duration ofHandler) {
    Duration own = longerOf(ofType, ofHandler);
    return own == null ? ofInbox : own;
  }

  /** What nobody has handled may still find somebody, and needs its content then. */
  private boolean payloadMayGo(Finished message) {
    return message.hasContent()
        && message.poisoned().isEmpty()
        && !message.completed().isEmpty()
        && everyReceiptIsOlder(message, times.payload(), Keep::payload);
  }

  private static boolean olderThan(Duration age, Instant at, Instant now) {
    return Duration.between(at, now).compareTo(age) >= 0;
  }

  private static Keep longer(Keep one, Keep other) {
    return new Keep(
        longerOf(one.receipts(), other.receipts()), longerOf(one.payload(), other.payload()));
  }

  /** The longer one of those that are there. */
  private static @Nullable Duration longerOf(@Nullable Duration one, @Nullable Duration other) {
    if (one == null || other == null) {
      return one == null ? other : one;
    }
    return one.compareTo(other) >= 0 ? one : other;
  }

  @Override
  public boolean archives() {
    return !listeners.isEmpty();
  }

  @Override
  public void archive(List<StoredMessage> messages) {
    List<PrunedMessage> pruned = messages.stream().map(Retention::pruned).toList();
    for (PruneListener listener : listeners) {
      try {
        listener.beforeDeletion(pruned);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new ArchiveException(e);
      } catch (Exception e) {
        throw new ArchiveException(e);
      }
    }
  }

  /** A listener could not take what was to be deleted. */
  static final class ArchiveException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    ArchiveException(Exception cause) {
      super("A prune listener failed, so nothing was deleted", cause);
    }
  }

  private static PrunedMessage pruned(StoredMessage message) {
    Headers headers = HeaderFormat.decode(message.headers());
    return new PrunedMessage(
        new MessageRef(message.source(), message.id()),
        message.type(),
        message.channel(),
        message.receivedAt(),
        message.contentType(),
        Optional.ofNullable(message.content()),
        headers);
  }
}
