package dev.pigeonhole.outbox;

import static dev.pigeonhole.HandlerOption.pausingAfter;
import static dev.pigeonhole.HandlerOption.within;

import dev.pigeonhole.Channel;
import dev.pigeonhole.ChannelBuilder;
import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.ConfigurationException.Problem;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.HandlerKey;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.InboxBuilder;
import dev.pigeonhole.Interceptor;
import dev.pigeonhole.Message;
import dev.pigeonhole.OnConflict;
import dev.pigeonhole.Received;
import dev.pigeonhole.RetryPolicy;
import dev.pigeonhole.TypeBuilder;
import dev.pigeonhole.Unhandled;
import dev.pigeonhole.codec.PayloadCodec;
import dev.pigeonhole.event.InboxListener;
import dev.pigeonhole.store.InboxStore;
import dev.pigeonhole.transport.Publisher;
import dev.pigeonhole.transport.Transport;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/** All options of an outbox; each has a default that is safe in production. */
public final class OutboxBuilder {
  /** A transport that does not keep to its time is stopped after this much more. */
  private static final Duration PATIENCE = Duration.ofSeconds(10);

  private static final Duration LONGEST_TIMEOUT = Duration.ofHours(1);
  private static final int MOST_AT_ONCE = 200;

  /** So many failures in a row are those of the other side, and count for no message. */
  private static final int FAILURES_IN_A_ROW = 20;

  /** What a transport fails with is nearly always the other side's, and may take half a day. */
  static final RetryPolicy PATIENT =
      RetryPolicy.exponential(Duration.ofSeconds(1))
          .cappedAt(Duration.ofMinutes(1))
          .maxAttempts(1_000);

  private final InboxStore store;
  private final InboxBuilder engine;
  private final Routes routes = new Routes();
  private String name = "outbox";
  private Duration sendTimeout = Duration.ofSeconds(30);
  private int maxBatch = 100;
  private BiFunction<? super Received<?>, Message, Message> onSending =
      (staged, message) -> message;

  OutboxBuilder(InboxStore store) {
    this.store = store;
    this.engine = Inbox.on(store).retry(PATIENT);
  }

  /**
   * Its name in threads, events and tables, and the source of messages that name none and whose
   * route's mapper names none either: receivers tell messages apart by source and id. Default
   * {@code outbox}.
   */
  public OutboxBuilder named(String name) {
    this.name = name;
    return this;
  }

  /** Sends messages of this class through a transport, under its simple name. */
  public OutboxBuilder route(Class<?> type, Transport transport) {
    return route(Route.of(type), transport);
  }

  /** Sends messages through a transport. */
  public OutboxBuilder route(Route<?> route, Transport transport) {
    routes.add(route, transport);
    return this;
  }

  /**
   * Hands messages of this class to a channel of an inbox in the same database, in the transaction
   * that publishes them: nothing is staged here, and nothing has to be sent. Get it from {@link
   * Inbox#publisher}.
   */
  public OutboxBuilder into(Class<?> type, Publisher channel) {
    return into(Route.of(type), channel);
  }

  /**
   * The same for messages that are published as bytes, under the names of the route. Its order and
   * its mapper are those of a route through a transport, and refused here.
   */
  public OutboxBuilder into(Route<?> route, Publisher channel) {
    routes.add(route, channel);
    return this;
  }

  /** How long the other side may take to confirm what it was sent. Default 30 s. */
  public OutboxBuilder sendTimeout(Duration time) {
    this.sendTimeout = time;
    return this;
  }

  /** How many messages a transport is given at once. Default 100. */
  public OutboxBuilder maxBatch(int messages) {
    this.maxBatch = messages;
    return this;
  }

  /**
   * When to send again what was not confirmed, and when to stop. Default: after 1 s, 2 s, 4 s, …,
   * up to a minute, a thousand times. While a route fails 20 times in a row it is tried with one
   * message at a time, and no attempt counts: an other side that is down poisons nothing. But those
   * first 20 count, and may all be of one message: with a policy of fewer than 20 attempts they can
   * poison it.
   */
  public OutboxBuilder retry(RetryPolicy policy) {
    engine.retry(policy);
    return this;
  }

  /** How payloads become bytes. Default: the codec that the class path offers. */
  public OutboxBuilder codec(PayloadCodec codec) {
    engine.codec(codec);
    return this;
  }

  /**
   * The largest payload in bytes; a larger one is refused when it is published. Default 1,000,000.
   */
  public OutboxBuilder maxPayload(int bytes) {
    engine.maxPayload(bytes);
    return this;
  }

  /** How often a route may be sending at once on one node. Default 8. */
  public OutboxBuilder concurrency(int sends) {
    engine.concurrency(sends);
    return this;
  }

  /** See {@link InboxBuilder#lanes}. */
  public OutboxBuilder lanes(int lanes) {
    engine.lanes(lanes);
    return this;
  }

  /** See {@link InboxBuilder#beat} and {@link InboxBuilder#deadAfter}. Default 2 s and 8 s. */
  public OutboxBuilder beats(Duration beat, Duration deadAfter) {
    engine.beat(beat).deadAfter(deadAfter);
    return this;
  }

  /** See {@link InboxBuilder#polling}. */
  public OutboxBuilder polling(Duration shortest, Duration longest) {
    engine.polling(shortest, longest);
    return this;
  }

  /**
   * Limits how long running sends may continue after {@code close()}. See {@link
   * InboxBuilder#stopGrace}; {@code close()} also waits until the transports are closed.
   */
  public OutboxBuilder stopGrace(Duration grace) {
    engine.stopGrace(grace);
    return this;
  }

  /** Forgets messages this long after they were confirmed. Default: never. */
  public OutboxBuilder keepReceipts(Duration time) {
    engine.keepReceipts(time);
    return this;
  }

  /** Drops the content of messages this long after they were confirmed. Default: with them. */
  public OutboxBuilder keepPayload(Duration time) {
    engine.keepPayload(time);
    return this;
  }

  /** See {@link InboxBuilder#keepPoisoned}. */
  public OutboxBuilder keepPoisoned(Duration time) {
    engine.keepPoisoned(time);
    return this;
  }

  /**
   * Gives every message something when it is published, on the thread that does; see {@link
   * InboxBuilder#stamping}.
   */
  public OutboxBuilder stamping(UnaryOperator<Message> stamp) {
    engine.stamping(stamp);
    return this;
  }

  /**
   * Stands around every attempt to send a message. Those that go out together stand one inside the
   * other.
   */
  public OutboxBuilder around(Interceptor interceptor) {
    engine.around(interceptor);
    return this;
  }

  /**
   * Has the last word on what a message carries, each time before it becomes an envelope: a header
   * with the trace context of this attempt, say. Source, id and content must stay the same, or
   * receivers could not tell a repeat. What it throws poisons the message, as a mapper's failure
   * does.
   *
   * @param stamp what is being sent, and the message as it was staged → the message as it is sent
   */
  public OutboxBuilder onSending(BiFunction<? super Received<?>, Message, Message> stamp) {
    this.onSending = stamp;
    return this;
  }

  /** Is told of every event. May be given several times. */
  public OutboxBuilder listener(InboxListener listener) {
    engine.listener(listener);
    return this;
  }

  /**
   * Checks the options, then the database, then whose tables they are, and answers the outbox.
   *
   * @throws ConfigurationException with every problem of the first step that finds any
   * @throws dev.pigeonhole.store.StoreException if the database cannot be reached
   */
  public Outbox build() {
    List<Problem> problems = problems();
    if (!problems.isEmpty()) {
      throw new ConfigurationException(problems);
    }
    refuseOtherDatabases();
    return new Outbox(name, store, routes, engine.named(name).channel(channel()).build());
  }

  private Channel channel() {
    ChannelBuilder channel =
        Channel.named(name).onConflict(OnConflict.REJECT).unhandled(Unhandled.REJECT);
    TypeBuilder<?> last = null;
    for (Routes.Sending each : routes.sendings()) {
      last = declare(channel, each.route(), each.transport());
    }
    return last == null ? channel.on(Nothing.class).build() : last.build();
  }

  private <T> TypeBuilder<T> declare(ChannelBuilder channel, Route<T> route, Transport transport) {
    String[] formerNames = route.formerNames().toArray(String[]::new);
    TypeBuilder<T> type = channel.on(route.type()).named(route.name(), formerNames);
    Function<? super T, @Nullable String> orderingKey = route.orderingKey();
    if (orderingKey != null) {
      type.orderedBy(orderingKey);
    }
    return type.handleEncoded(
        HandlerKey.of(route.name()).formerly(formerNames),
        maxBatch,
        new Relay(transport, route.mapper(), onSending, sendTimeout),
        within(sendTimeout.plus(PATIENCE)),
        pausingAfter(FAILURES_IN_A_ROW));
  }

  private List<Problem> problems() {
    List<Problem> problems = new ArrayList<>();
    if (routes.types().isEmpty()) {
      problems.add(
          new Problem(
              ErrorCode.NOTHING_CONFIGURED,
              "Outbox '%s' has no route. Add one with .route(…) or .into(…).".formatted(name)));
    }
    twice(routes.types().stream().map(Class::getName).toList(), problems);
    twice(routes.names(), problems);
    for (Routes.Shortcut each : routes.shortcuts()) {
      if (each.route().saysHowToSend()) {
        problems.add(
            new Problem(
                ErrorCode.OPTION_NOT_APPLICABLE,
                ("The route '%s' leads into a channel, where orderedBy and mappedBy of a route mean"
                        + " nothing. Say .orderedBy(…) on the type in that channel, or on the message.")
                    .formatted(each.route().name())));
      }
    }
    if (sendTimeout.compareTo(Duration.ofMillis(1)) < 0
        || sendTimeout.compareTo(LONGEST_TIMEOUT) > 0) {
      problems.add(
          new Problem(
              ErrorCode.TIMEOUT_INVALID,
              "sendTimeout is %s; give a duration from 1 ms to %s."
                  .formatted(sendTimeout, LONGEST_TIMEOUT)));
    }
    if (maxBatch < 1 || maxBatch > MOST_AT_ONCE) {
      problems.add(
          new Problem(
              ErrorCode.RANGE_INVALID,
              "maxBatch is %d; give a number from 1 to %d.".formatted(maxBatch, MOST_AT_ONCE)));
    }
    return problems;
  }

  /** The second of them would never get anything. */
  private static void twice(List<String> names, List<Problem> problems) {
    Set<String> seen = new HashSet<>();
    for (String each : names) {
      if (!seen.add(each)) {
        problems.add(
            new Problem(
                ErrorCode.TYPE_NAME_TAKEN,
                ("There are two routes for '%s'. A message goes one way; let the receiving side hand"
                        + " it to several.")
                    .formatted(each)));
      }
    }
  }

  private void refuseOtherDatabases() {
    List<Problem> problems = new ArrayList<>();
    for (Routes.Shortcut each : routes.shortcuts()) {
      if (!each.channel().commitsWith(store)) {
        problems.add(
            new Problem(
                ErrorCode.OUTBOX_MISSING,
                ("The route '%s' leads into a channel in another database, so one transaction cannot"
                        + " reach both. Build the inbox on the same DataSource, or send it there:"
                        + " .route(…, InProcess.into(inbox, channel)).")
                    .formatted(each.route().name())));
      }
    }
    if (!problems.isEmpty()) {
      throw new ConfigurationException(problems);
    }
  }

  /** Stands for the types of an outbox that has shortcuts only. */
  private static final class Nothing {}
}
