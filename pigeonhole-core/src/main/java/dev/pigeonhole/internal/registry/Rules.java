package dev.pigeonhole.internal.registry;

import dev.pigeonhole.ConfigurationException.Problem;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.Unhandled;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Checks declarations. One instance can be fed the channels of several inboxes, because handler
 * keys must be unique over all of them. Problems are collected, never thrown one by one.
 */
public final class Rules {
  private record Place(String key, String where, boolean former) {}

  private final List<Problem> problems = new ArrayList<>();
  private final Map<String, Place> keys = new HashMap<>();
  private final Map<String, Place> foldedKeys = new HashMap<>();
  private final Set<String> channels = new HashSet<>();
  private final Map<String, Class<?>> typeNames = new HashMap<>();

  public List<Problem> problems() {
    return problems;
  }

  /** Checks the channels of one inbox, or the direct channels of an application. */
  public void check(String where, List<ChannelSpec> specs, boolean transactions) {
    name("inbox", where);
    for (ChannelSpec channel : specs) {
      check(where, channel, transactions);
    }
  }

  private void check(String inbox, ChannelSpec channel, boolean transactions) {
    name("channel", channel.name());
    if (!channels.add(inbox + "\n" + channel.name())) {
      add(
          ErrorCode.CHANNEL_TWICE,
          "Channel '%s' is added twice to '%s'. Put all its types into one channel, or rename one."
              .formatted(channel.name(), inbox));
    }
    Set<Class<?>> types = new HashSet<>();
    for (TypeSpec type : channel.types()) {
      if (!types.add(type.type())) {
        add(
            ErrorCode.TYPE_NAME_TAKEN,
            ("Channel '%s' declares %s twice, and messages would reach the first block alone. Put"
                    + " all its handlers into one.")
                .formatted(channel.name(), type.type().getName()));
      }
      check(channel, type);
      for (HandlerSpec handler : type.handlers()) {
        String where = where(inbox, channel, type);
        check(channel, handler, where, transactions);
        selector(type, handler, where);
      }
    }
  }

  /** What only the codec can tell of the business key of a type. */
  public static List<Problem> keyProblems(ChannelSpec channel, TypeSpec type, Payloads payloads) {
    return Stream.concat(Stream.of(type.key()), ownKeys(type))
        .flatMap(key -> key.problems(payloads, type.codec()).stream())
        .map(text -> new Problem(ErrorCode.BUSINESS_KEY_INVALID, inChannel(channel, text)))
        .toList();
  }

  private static String inChannel(ChannelSpec channel, String problem) {
    return "Channel '%s': %s".formatted(channel.name(), problem);
  }

  private static Stream<KeyStrategy> ownKeys(TypeSpec type) {
    return type.handlers().stream().map(type::ownKey).flatMap(Stream::ofNullable);
  }

  /** A message is stored once, so it has one identity for all who take stored ones. */
  private void selector(TypeSpec type, HandlerSpec handler, String where) {
    if (handler.selector() != null && type.handlers().size() > 1 && !handler.inline()) {
      add(
          ErrorCode.OPTION_NOT_APPLICABLE,
          ("Handler '%s' of %s has keyedBy, and is one of %d: a stored message has one identity for"
                  + " all of them. Select the key for the type, give the handler a channel of its"
                  + " own, or make it inline().")
              .formatted(handler.key().key(), where, type.handlers().size()));
    }
  }

  /** What is allowed, but probably not meant: types that nobody handles. */
  public static List<String> warnings(List<ChannelSpec> specs) {
    List<String> warnings = new ArrayList<>();
    for (ChannelSpec channel : specs) {
      for (TypeSpec type : channel.types()) {
        // Whoever rejects such messages says so to those who bring them.
        if (type.handlers().isEmpty() && channel.unhandled() != Unhandled.REJECT) {
          warnings.add(
              "Channel '%s' declares %s without a handler: its messages are %s. Add .handle(…)."
                  .formatted(
                      channel.name(),
                      type.type().getTypeName(),
                      channel.direct()
                          ? "dropped"
                          : channel.unhandled() == Unhandled.IGNORE
                              ? "ignored"
                              : "kept, and go nowhere"));
        }
      }
    }
    return warnings;
  }

  private static String where(String inbox, ChannelSpec channel, TypeSpec type) {
    return channel.direct()
        ? "direct channel '%s' on %s".formatted(channel.name(), type.type().getName())
        : "channel '%s' on %s in inbox '%s'"
            .formatted(channel.name(), type.type().getName(), inbox);
  }

  private void check(ChannelSpec channel, TypeSpec type) {
    keep("%s of channel '%s'".formatted(type.type().getName(), channel.name()), type.keep());
    Stream.concat(Stream.of(type.key()), ownKeys(type))
        .flatMap(key -> key.problems().stream())
        .forEach(problem -> add(ErrorCode.BUSINESS_KEY_INVALID, inChannel(channel, problem)));
    if (type.onMissingKey() != null && !type.hasKeys()) {
      add(
          ErrorCode.OPTION_NOT_APPLICABLE,
          "%s of channel '%s' has missingKey but no business key. Select one with .keyedBy(…), or"
                  .formatted(type.type().getName(), channel.name())
              + " leave it out.");
    }
    Set<String> names = new HashSet<>();
    for (String name : type.names()) {
      if (!names.add(name)) {
        add(
            ErrorCode.TYPE_NAME_TAKEN,
            "%s of channel '%s' has the name '%s' twice. Leave one out."
                .formatted(type.type().getName(), channel.name(), Names.shown(name)));
      }
      if (!Names.isText(name, 200)) {
        add(
            ErrorCode.NAME_INVALID,
            "Type name '%s' of channel '%s' is not usable: 1 to 200 characters, not blank, no"
                    .formatted(Names.shown(name), channel.name())
                + " control characters, no lone surrogates.");
      }
      Class<?> earlier = typeNames.putIfAbsent(name, type.type());
      if (earlier != null && earlier != type.type()) {
        add(
            ErrorCode.TYPE_NAME_TAKEN,
            ("The type name '%s' stands for %s and for %s. Messages are stored under it, so give"
                    + " one of the two its own with .named(\"…\").")
                .formatted(Names.shown(name), earlier.getName(), type.type().getName()));
      }
    }
  }

  private void check(ChannelSpec channel, HandlerSpec handler, String where, boolean transactions) {
    String key = handler.key().key();
    if (key == null || key.isBlank()) {
      add(
          ErrorCode.HANDLER_KEY_MISSING,
          ("A handler of %s has no key. The key is stored with every delivery; choose one that can"
                  + " stay, such as \"reserve-stock\".")
              .formatted(where));
    } else {
      key(new Place(key, where, false));
    }
    for (String former : handler.key().formerKeys()) {
      key(new Place(former, where, true));
    }
    options(channel, handler, where, transactions);
  }

  private void key(Place place) {
    if (!name("handler key", place.key(), " of " + place.where())) {
      return;
    }
    Place earlier = keys.putIfAbsent(place.key(), place);
    if (earlier != null) {
      boolean former = earlier.former() || place.former();
      add(
          former ? ErrorCode.FORMER_KEY_TAKEN : ErrorCode.HANDLER_KEY_TWICE,
          ("%s '%s' of %s is already declared %s. Keys are stored with every delivery, so each"
                  + " must be unique, former keys included, over all channels and inboxes. Rename"
                  + " one of the two.")
              .formatted(
                  place.former() ? "Former key" : "Handler key",
                  place.key(),
                  place.where(),
                  earlier.where().equals(place.where()) ? "there" : "by " + earlier.where()));
      return;
    }
    Place similar = foldedKeys.putIfAbsent(place.key().toLowerCase(Locale.ROOT), place);
    if (similar != null) {
      add(
          ErrorCode.HANDLER_KEYS_DIFFER_BY_CASE,
          ("Handler keys '%s' of %s and '%s' of %s differ only by case. They would be two handlers;"
                  + " rename one so that people can tell them apart.")
              .formatted(place.key(), place.where(), similar.key(), similar.where()));
    }
  }

  private void options(
      ChannelSpec channel, HandlerSpec handler, String where, boolean transactions) {
    String key = handler.key().key();
    Duration timeout = handler.timeout();
    if (timeout != null
        && (timeout.isZero()
            || timeout.isNegative()
            || timeout.compareTo(Spans.LONGEST_OPTION) > 0)) {
      add(
          ErrorCode.TIMEOUT_INVALID,
          "Handler '%s' has the timeout %s; give a duration above zero and up to %s, or none."
              .formatted(key, timeout, Spans.LONGEST_OPTION));
    }
    keep("Handler '%s'".formatted(key), handler.keep());
    Integer atMost = handler.atMost();
    if (atMost != null && (atMost < 1 || atMost > 10_000)) {
      add(
          ErrorCode.RANGE_INVALID,
          "Handler '%s' has atMost(%d); give a number from 1 to 10000.".formatted(key, atMost));
    }
    BatchSpec batch = handler.batch();
    if (batch != null && (batch.most() < 1 || batch.most() > 200)) {
      add(
          ErrorCode.RANGE_INVALID,
          "Batch handler '%s' takes %d messages; give a number from 1 to 200."
              .formatted(key, batch.most()));
    }
    if (batch != null && channel.direct()) {
      add(
          ErrorCode.OPTION_NOT_APPLICABLE,
          "Handler '%s' takes batches, but %s is direct and has one message at a time. Move it to a"
                  .formatted(key, where)
              + " stored channel.");
    }
    Double perSecond = handler.perSecond();
    if (perSecond != null && !(perSecond >= 0.001 && perSecond <= 1_000_000)) {
      add(
          ErrorCode.RANGE_INVALID,
          "Handler '%s' has perSecond(%s); give a number from 0.001 to 1000000."
              .formatted(key, perSecond));
    }
    Integer pausingAfter = handler.pausingAfter();
    if (pausingAfter != null && (pausingAfter < 1 || pausingAfter > 1_000_000)) {
      add(
          ErrorCode.RANGE_INVALID,
          "Handler '%s' has pausingAfter(%d); give a number from 1 to 1000000."
              .formatted(key, pausingAfter));
    }
    if (handler.sharedCommits() < 1 || handler.sharedCommits() > 50) {
      add(
          ErrorCode.RANGE_INVALID,
          "Handler '%s' has sharedCommits(%d); give a number from 1 to 50."
              .formatted(key, handler.sharedCommits()));
    }
    if (handler.sharedCommits() > 1 && !handler.isTransactional()) {
      add(
          ErrorCode.OPTION_NOT_APPLICABLE,
          "Handler '%s' has sharedCommits but no transaction. Declare it with handleInTransaction."
              .formatted(key));
    }
    if (handler.isTransactional() && channel.direct()) {
      add(
          ErrorCode.OPTION_NOT_APPLICABLE,
          ("Handler '%s' is transactional, but %s is direct and has no store. Move it to a stored"
                  + " channel.")
              .formatted(key, where));
    } else if (handler.isTransactional() && !transactions) {
      add(
          ErrorCode.TX_UNSUPPORTED,
          ("Handler '%s' is transactional, but this store cannot commit a handler's writes with its"
                  + " receipt. Use a JDBC store, or .handle(…) with an idempotent handler.")
              .formatted(key));
    }
    if (handler.inline()) {
      inline(channel, handler, where, transactions);
    }
    if (channel.direct()
        && (handler.retry() != null
            || timeout != null
            || atMost != null
            || perSecond != null
            || pausingAfter != null)) {
      add(
          ErrorCode.OPTION_NOT_APPLICABLE,
          ("Handler '%s' of %s has retrying, within, atMost, perSecond or pausingAfter, which need an"
                  + " inbox: it runs once, on the publisher's thread. Leave them out, or move it to a stored"
                  + " channel.")
              .formatted(key, where));
    }
  }

  private void inline(
      ChannelSpec channel, HandlerSpec handler, String where, boolean transactions) {
    String key = handler.key().key();
    if (channel.direct()) {
      add(
          ErrorCode.OPTION_NOT_APPLICABLE,
          "Handler '%s' is inline, but %s is direct: it runs at once anyway, without a memory. Leave"
                  .formatted(key, where)
              + " out one of the two.");
    } else if (!transactions && !handler.isTransactional()) {
      add(
          ErrorCode.TX_UNSUPPORTED,
          "Handler '%s' is inline, but this store cannot commit a receipt with what it does. Use a"
                  .formatted(key)
              + " JDBC store, or leave out inline().");
    }
    if (handler.batch() != null
        || handler.sharedCommits() > 1
        || handler.retry() != null
        || handler.options().atMost() != null
        || handler.perSecond() != null
        || handler.pausingAfter() != null) {
      add(
          ErrorCode.OPTION_NOT_APPLICABLE,
          ("Handler '%s' of %s is inline: it takes one message at a time from whoever hands it in,"
                  + " and its source retries. Leave out batches, sharedCommits, retrying, atMost,"
                  + " perSecond and pausingAfter, or leave out inline().")
              .formatted(key, where));
    }
  }

  private void keep(String who, Keep keep) {
    keep(who, "receipts", keep.receipts());
    keep(who, "the payload", keep.payload());
  }

  private void keep(String who, String what, @Nullable Duration time) {
    if (time != null && !Spans.isMemory(time, Spans.SHORTEST_MEMORY)) {
      add(
          ErrorCode.RETENTION_INVALID,
          "%s keeps %s for %s; give a time from %s to %s, or leave it out for the inbox's."
              .formatted(who, what, time, Spans.SHORTEST_MEMORY, Spans.LONGEST_MEMORY));
    }
  }

  private boolean name(String what, String name) {
    return name(what, name, "");
  }

  private boolean name(String what, String name, String where) {
    if (name != null && Names.valid(name)) {
      return true;
    }
    add(
        ErrorCode.NAME_INVALID,
        "The %s '%s'%s is not usable. %s"
            .formatted(what, Names.shown(String.valueOf(name)), where, Names.RULE));
    return false;
  }

  private void add(ErrorCode code, String text) {
    problems.add(new Problem(code, text));
  }
}
