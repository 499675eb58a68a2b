package dev.pigeonhole.internal.dispatch;

import dev.pigeonhole.Acceptance;
import dev.pigeonhole.Acceptance.Rejected;
import dev.pigeonhole.ConfigurationException.Problem;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.Failure;
import dev.pigeonhole.Message;
import dev.pigeonhole.MessageHandler;
import dev.pigeonhole.MessageRef;
import dev.pigeonhole.Published;
import dev.pigeonhole.Unhandled;
import dev.pigeonhole.event.InboxEvent;
import dev.pigeonhole.event.InboxListener;
import dev.pigeonhole.internal.registry.BoundHandler;
import dev.pigeonhole.internal.registry.ChannelSpec;
import dev.pigeonhole.internal.registry.Faults;
import dev.pigeonhole.internal.registry.HandlerSpec;
import dev.pigeonhole.internal.registry.Names;
import dev.pigeonhole.internal.registry.Payloads;
import dev.pigeonhole.internal.registry.Registry;
import dev.pigeonhole.internal.registry.Rules;
import dev.pigeonhole.internal.registry.TypeSpec;
import dev.pigeonhole.store.Cell;
import dev.pigeonhole.store.Delivery;
import dev.pigeonhole.store.HandlerId;
import dev.pigeonhole.store.NewMessage;
import dev.pigeonhole.store.StoredMessage;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Channels without an inbox: handlers run on the publisher's thread, once, and nothing remembers
 * it. A message passes the same edge as a stored one, and a handler sees a first attempt without a
 * second, so that a channel can be moved into an inbox without touching its handlers.
 */
public final class DirectChannels {
  /** Stands for the inbox that these channels do not have, in events and answers. */
  public static final String NAME = "direct";

  private static final Logger LOG = LoggerFactory.getLogger(DirectChannels.class);
  private static final Intake.Limits LIMITS =
      new Intake.Limits(1, Integer.MAX_VALUE, 200, 64 * 1024);

  private final List<ChannelSpec> channels;
  private final Payloads payloads;
  private final Events events;
  private final InstantSource clock = InstantSource.system();
  private final Intake intake;

  public DirectChannels(
      List<ChannelSpec> channels, Payloads payloads, List<InboxListener> listeners) {
    this.channels = List.copyOf(channels);
    this.payloads = payloads;
    this.events = new Events(NAME, List.copyOf(listeners));
    this.intake = new Intake(new Registry(List.of(), List.of()), payloads, LIMITS, clock);
  }

  /** What the common rules do not ask: that the channel means to be direct, and can be. */
  public static void check(ChannelSpec channel, Payloads payloads, List<Problem> problems) {
    if (!channel.direct()) {
      problems.add(
          new Problem(
              ErrorCode.OPTION_NOT_APPLICABLE,
              ("Channel '%s' is a stored one, but no inbox was given for it. Add it to an inbox, or"
                      + " declare it with .direct().")
                  .formatted(channel.name())));
    }
    for (TypeSpec type : channel.types()) {
      if (!payloads.supports(type)) {
        problems.add(
            new Problem(
                ErrorCode.PAYLOAD_TYPE_REFUSED,
                ("Handlers of direct channel '%s' could change each other's %s, and there is no"
                        + " codec to copy it. Make it a record of unchangeable parts. Or: %s")
                    .formatted(channel.name(), type.type().getName(), payloads.lacking())));
      }
      problems.addAll(Rules.keyProblems(channel, type, payloads));
    }
  }

  public List<ChannelSpec> channels() {
    return channels;
  }

  /**
   * Runs every handler that wants the message.
   *
   * @param answers gets the refusal of each channel that has one
   * @return whether some channel takes its type
   */
  public boolean publish(Message message, List<Published.Answer> answers) {
    boolean taken = false;
    for (ChannelSpec channel : channels) {
      TypeSpec type = Registry.typeOf(channel, message);
      if (type != null) {
        taken = true;
        Acceptance answer = run(channel, type, message, false);
        if (answer instanceof Rejected) {
          answers.add(new Published.Answer(NAME, channel.name(), answer));
        }
      }
    }
    return taken;
  }

  /**
   * Runs the handlers of one channel for what its source brings, and answers how that went, so that
   * the source can bring it again.
   */
  public List<Acceptance> accept(ChannelSpec channel, List<Message> messages) {
    List<Acceptance> answers = new ArrayList<>(messages.size());
    for (Message message : messages) {
      answers.add(run(channel, Registry.typeOf(channel, message), message, true));
    }
    return answers;
  }

  /** Nobody gets to see it otherwise. */
  public void tellRejected(ChannelSpec channel, Rejected rejected) {
    events.tell(new InboxEvent.Rejected(NAME, channel.name(), rejected.code(), rejected.reason()));
  }

  private Acceptance run(
      ChannelSpec channel, @Nullable TypeSpec type, Message message, boolean comesAgain) {
    Intake.Checked checked = intake.check(channel, message);
    NewMessage edge = checked.message();
    if (edge == null) {
      return rejected(channel, Objects.requireNonNull(checked.rejected()));
    }
    MessageRef ref = new MessageRef(edge.source(), edge.id());
    if (type == null || (comesAgain && type.handlers().isEmpty())) {
      return unhandled(channel, edge, ref);
    }
    if (edge.notBefore() != null) {
      return rejected(
          channel,
          new Rejected(
              ErrorCode.OPTION_NOT_APPLICABLE,
              "%s: The message must wait until %s, and direct channel '%s' cannot. Use an inbox."
                  .formatted(
                      ErrorCode.OPTION_NOT_APPLICABLE.text(), edge.notBefore(), channel.name())));
    }
    StoredMessage received = edge.stored(0, 0, clock.instant());
    Map<String, Failure> failures = new LinkedHashMap<>();
    for (HandlerSpec handler : type.handlers()) {
      BoundHandler bound =
          new BoundHandler(handler, type, List.of(id(handler)), channel.onPoison());
      Failure failure = run(channel, bound, message, received, comesAgain);
      if (failure != null) {
        failures.put(bound.key(), failure);
      }
    }
    return failures.isEmpty()
        ? new Acceptance.Accepted(ref)
        : new Acceptance.Unfinished(ref, failures);
  }

  private Rejected rejected(ChannelSpec channel, Rejected rejected) {
    tellRejected(channel, rejected);
    return rejected;
  }

  /** Nothing can be kept here, so what would be is refused. */
  private Acceptance unhandled(ChannelSpec channel, NewMessage edge, MessageRef ref) {
    if (channel.unhandled() == Unhandled.IGNORE) {
      events.tell(new InboxEvent.Unhandled(NAME, channel.name(), ref, edge.type(), false));
      return new Acceptance.Ignored(ref);
    }
    return rejected(
        channel,
        new Rejected(
            ErrorCode.TYPE_UNHANDLED,
            ("%s: No handler of direct channel '%s' takes messages of type '%s', and there is no"
                    + " inbox to keep it. Add a handler for it, or say .unhandled(IGNORE).")
                .formatted(
                    ErrorCode.TYPE_UNHANDLED.text(), channel.name(), Names.shown(edge.type()))));
  }

  private @Nullable Failure run(
      ChannelSpec channel,
      BoundHandler handler,
      Message message,
      StoredMessage received,
      boolean comesAgain) {
    Work work = new Work(Delivery.fresh(new Cell(0, 0), 0, 0, 0, null), received, null, 0, 0, 0);
    Attempt attempt = new Attempt(NAME, work, handler, new Breaker(null), () -> false);
    try {
      attempt.decoded(copy(message, received, handler.type()));
      MessageHandler<Object> plain = Objects.requireNonNull(handler.spec().plain());
      plain.handle(attempt);
    } catch (Throwable e) {
      return failed(channel, attempt, e, comesAgain);
    }
    if (!events.silent()) {
      events.tell(
          new InboxEvent.Completed(
              NAME, handler.key(), attempt.message(), 1, attempt.took(), attempt.took()));
    }
    return null;
  }

  private @Nullable Object copy(Message message, StoredMessage received, TypeSpec type) {
    Object payload = message.payload();
    return message.type().isEmpty() && payload != null && payloads.shares(payload.getClass())
        ? payload
        : payloads.decode(received.content(), received.contentType(), type, received.type());
  }

  /** Harms nobody else, except where the JVM itself is in trouble or the caller is to stop. */
  private Failure failed(
      ChannelSpec channel, Attempt attempt, Throwable thrown, boolean comesAgain) {
    Failure failure = Failures.of(thrown, clock.instant());
    LOG.warn(
        "Handler '{}' of direct channel '{}' failed on {} and {}",
        attempt.handler(),
        channel.name(),
        Names.shown(attempt.message().toString()),
        comesAgain && !failure.isFinal()
            ? "its source is to bring it again"
            : "will not see it again",
        thrown);
    events.tell(
        new InboxEvent.DirectFailed(
            NAME, channel.name(), attempt.handler(), attempt.message(), failure));
    if (thrown instanceof InterruptedException) {
      Thread.currentThread().interrupt();
    } else {
      Faults.passOnWhatIsNoMessages(thrown);
    }
    return failure;
  }

  private static HandlerId id(HandlerSpec handler) {
    return new HandlerId(handler.key().key(), 0, 0);
  }
}
