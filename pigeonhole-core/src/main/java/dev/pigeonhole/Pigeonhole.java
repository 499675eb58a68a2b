package dev.pigeonhole;

import dev.pigeonhole.internal.dispatch.DirectChannels;
import dev.pigeonhole.internal.lifecycle.DefaultInbox;
import dev.pigeonhole.internal.lifecycle.DirectFeeds;
import dev.pigeonhole.internal.lifecycle.RunningInboxes;
import dev.pigeonhole.internal.registry.ChannelSpec;
import dev.pigeonhole.internal.registry.Names;
import dev.pigeonhole.internal.registry.Registry;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;

/**
 * The inboxes and the direct channels of one application: started and stopped together, checked
 * together, published to together. Each inbox keeps its own store, engine and options. Safe for
 * many threads.
 *
 * <pre>{@code
 * Pigeonhole app =
 *     Pigeonhole.of(ordersInbox, shippingInbox)
 *         .direct(clicks)
 *         .requireInbox(Requirement.FAIL)
 *         .build();
 *
 * try (RunningInbox running = app.start()) {
 *   app.publish(Message.of("m-9", new OrderPlaced("o-9", "c-2")));
 *   running.awaitStopped();
 * }
 * }</pre>
 */
public final class Pigeonhole {
  private final List<DefaultInbox> inboxes;
  private final DirectChannels direct;
  private final DirectFeeds feeds;

  Pigeonhole(List<DefaultInbox> inboxes, DirectChannels direct, DirectFeeds feeds) {
    this.inboxes = List.copyOf(inboxes);
    this.direct = direct;
    this.feeds = feeds;
  }

  /** Starts to describe an application. Without an inbox, its direct channels do all the work. */
  public static PigeonholeBuilder of(Inbox... inboxes) {
    return new PigeonholeBuilder(List.of(inboxes));
  }

  /**
   * Starts every inbox, in the order they were given, and then the sources of direct channels.
   * Closing the answer stops them in the same order. If one cannot start, those before it are
   * stopped again.
   */
  public RunningInbox start() {
    List<Supplier<RunningInbox>> starts = new ArrayList<>();
    for (DefaultInbox inbox : inboxes) {
      starts.add(inbox::start);
    }
    if (!feeds.isEmpty()) {
      starts.add(() -> feeds.start(direct));
    }
    return RunningInboxes.start(starts);
  }

  /**
   * Hands a message to every channel that takes its type: inboxes accept it, then the handlers of
   * direct channels run, one after the other, on the calling thread. A direct handler that throws
   * is logged and told to the listeners; it stops nobody and is not tried again.
   *
   * <p>Without a source of its own, the message has a different identity in each channel.
   *
   * @throws dev.pigeonhole.store.StoreException if a store cannot say that it has the message. The
   *     other inboxes were asked nevertheless, and no direct handler has run: publish it again, and
   *     those that have it answer {@link Acceptance.Repeat}
   * @throws InboxException with {@code PH-KEY-07} if no channel takes it
   */
  public Published publish(Message message) {
    List<Published.Answer> answers = new ArrayList<>();
    RuntimeException failure = null;
    boolean taken = false;
    for (DefaultInbox inbox : inboxes) {
      for (ChannelSpec channel : inbox.channels()) {
        if (Registry.typeOf(channel, message) == null) {
          continue;
        }
        taken = true;
        try {
          Acceptance answer = inbox.accept(channel.name(), message);
          answers.add(new Published.Answer(inbox.name(), channel.name(), answer));
        } catch (RuntimeException e) {
          failure = failure == null ? e : with(failure, e);
        }
      }
    }
    if (failure != null) {
      throw failure;
    }
    taken |= direct.publish(message, answers);
    if (!taken) {
      throw new InboxException(ErrorCode.TYPE_NOT_REGISTERED, nobodyTakes(message));
    }
    return new Published(answers);
  }

  private static RuntimeException with(RuntimeException failure, RuntimeException other) {
    if (failure != other) {
      failure.addSuppressed(other);
    }
    return failure;
  }

  private String nobodyTakes(Message message) {
    List<String> channels = new ArrayList<>();
    for (DefaultInbox inbox : inboxes) {
      for (ChannelSpec channel : inbox.channels()) {
        channels.add("'%s' of inbox '%s'".formatted(channel.name(), inbox.name()));
      }
    }
    for (ChannelSpec channel : direct.channels()) {
      channels.add("'%s' (direct)".formatted(channel.name()));
    }
    Object payload = message.payload();
    String type =
        message
            .type()
            .map(name -> "type '" + Names.shown(name) + "'")
            .orElseGet(() -> payload == null ? "a null payload" : payload.getClass().getName());
    return "No channel takes %s. Declare it with .on(…) in one of: %s."
        .formatted(type, String.join(", ", channels));
  }
}
