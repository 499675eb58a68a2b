package dev.pigeonhole;

import dev.pigeonhole.codec.PayloadCodec;
import dev.pigeonhole.event.InboxListener;
import dev.pigeonhole.internal.lifecycle.DefaultInbox;
import dev.pigeonhole.internal.lifecycle.InboxSettings;
import dev.pigeonhole.internal.registry.ChannelSpec;
import dev.pigeonhole.store.InboxStore;
import dev.pigeonhole.transport.MessageSource;
import dev.pigeonhole.transport.Publisher;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.function.UnaryOperator;

/** All options of an inbox; each has a default that is safe in production. */
public final class InboxBuilder {
  private final InboxStore store;
  private final List<ChannelSpec> channels = new ArrayList<>();
  private final InboxSettings.Draft draft = new InboxSettings.Draft();

  InboxBuilder(InboxStore store) {
    this.store = store;
  }

  /** The inbox's name, in thread names, events and its tables. Default {@code inbox}. */
  public InboxBuilder named(String name) {
    draft.name = name;
    return this;
  }

  /** Adds a channel, and where its messages come from besides {@link Inbox#accept}. */
  public InboxBuilder channel(Channel channel, MessageSource... sources) {
    channels.add(channel.spec());
    for (MessageSource source : sources) {
      draft.feed(channel.name(), source);
    }
    return this;
  }

  /** How payloads become bytes. Default: the codec that the class path offers. */
  public InboxBuilder codec(PayloadCodec codec) {
    draft.codec = codec;
    return this;
  }

  /** The retry policy of handlers without their own. Default {@link RetryPolicy#defaults()}. */
  public InboxBuilder retry(RetryPolicy policy) {
    draft.retry = policy.backoff();
    return this;
  }

  /** Attempts of one handler at once on one node. Default 8. */
  public InboxBuilder concurrency(int attempts) {
    draft.concurrency = attempts;
    return this;
  }

  /**
   * Slices of the inbox that nodes share out among them; no more nodes than this can work on one
   * handler. Kept in the schema from the first start on. Default 64.
   */
  public InboxBuilder lanes(int lanes) {
    draft.lanes = lanes;
    return this;
  }

  /** How often a node gives a sign of life. Default 2 s. */
  public InboxBuilder beat(Duration interval) {
    draft.beat = interval;
    return this;
  }

  /** After how long without one the others take over; at least three beats. Default 8 s. */
  public InboxBuilder deadAfter(Duration silence) {
    draft.deadAfter = silence;
    return this;
  }

  /**
   * Waits between looks at an idle store, growing from the first to the second. Default 100 ms and
   * 1 s.
   */
  public InboxBuilder polling(Duration shortest, Duration longest) {
    draft.pollMin = shortest;
    draft.pollMax = longest;
    return this;
  }

  /**
   * How many rows of one cell are read, and how many outcomes are settled, in one go at most; also
   * how many messages of several callers share a commit. A caller's own batch is not split by it,
   * and a handler may have this many deliveries queued, or twice its slots if that is more. Default
   * 500.
   */
  public InboxBuilder batchSize(int rows) {
    draft.batchSize = rows;
    return this;
  }

  /** The largest payload in bytes. Default 1,000,000. */
  public InboxBuilder maxPayload(int bytes) {
    draft.maxPayload = bytes;
    return this;
  }

  /** The most headers of a message, and their size together. Default 200 and 64 KB. */
  public InboxBuilder maxHeaders(int count, int bytes) {
    draft.maxHeaders = count;
    draft.maxHeaderBytes = bytes;
    return this;
  }

  /**
   * How long deliveries wait for a node that knows their handler key before they are poisoned; zero
   * poisons at once. Default 10 minutes.
   */
  public InboxBuilder holdUnknownKeys(Duration grace) {
    draft.holdUnknownKeys = grace;
    return this;
  }

  /**
   * How many lone runs of a delivery may end their process before it is poisoned. A process that
   * dies with several deliveries under way counts for none of them. Default 3.
   */
  public InboxBuilder maxCrashes(int crashes) {
    draft.maxCrashes = crashes;
    return this;
  }

  /**
   * How many fresh deliveries may wait before sources are paused; they go on at half of it. Default
   * 50,000.
   */
  public InboxBuilder maxBacklog(int deliveries) {
    draft.maxBacklog = deliveries;
    return this;
  }

  /**
   * How many fresh deliveries may wait for one handler before it is called behind. Such a handler
   * no longer counts for {@link #maxBacklog}, unless all are behind: it cannot stop the sources for
   * its siblings. Default 10,000.
   */
  public InboxBuilder maxHandlerBacklog(int deliveries) {
    draft.maxHandlerBacklog = deliveries;
    return this;
  }

  /** The pause before a failed loop of the engine starts again. Default 5 s. */
  public InboxBuilder restartDelay(Duration delay) {
    draft.restartDelay = delay;
    return this;
  }

  /**
   * Limits how long sources and running attempts may continue after {@link RunningInbox#close},
   * which returns within this time plus 2 s, whatever the database does. Default 25 s.
   */
  public InboxBuilder stopGrace(Duration grace) {
    draft.stopGrace = grace;
    return this;
  }

  /**
   * Runs handlers on this executor, which is never shut down here. Default: virtual threads where
   * the JVM has them, otherwise threads of our own.
   */
  public InboxBuilder executor(Executor executor) {
    draft.executor = executor;
    return this;
  }

  /**
   * Where handlers publish: an outbox in the same database, so that what they publish commits with
   * their receipts. Default none.
   */
  public InboxBuilder outbox(Publisher outbox) {
    draft.outbox = outbox;
    return this;
  }

  /**
   * Gives every message something on its way in, on the thread that hands it in: a header with the
   * trace context or the tenant, say. What it throws is thrown by {@code accept}; a message of a
   * source is rejected with {@code PH-MAP-01}, as if the mapper had thrown it. May be given several
   * times; each sees what the one before has answered.
   */
  public InboxBuilder stamping(UnaryOperator<Message> stamp) {
    draft.stamps.add(stamp);
    return this;
  }

  /** Stands around every attempt; the first one given is the outermost. */
  public InboxBuilder around(Interceptor interceptor) {
    draft.interceptors.add(interceptor);
    return this;
  }

  /**
   * Forgets messages this long after their last completion, with their receipts: a repeat that
   * comes later is a new message. Default: never. Messages that are open or poisoned stay.
   */
  public InboxBuilder keepReceipts(Duration time) {
    draft.keepReceipts = time;
    return this;
  }

  /**
   * Drops the content of messages this long after their last completion; they stay known until
   * {@link #keepReceipts} ends. Default: with the message.
   */
  public InboxBuilder keepPayload(Duration time) {
    draft.keepPayload = time;
    return this;
  }

  /**
   * Lets {@link #keepReceipts} delete messages with poisoned deliveries too, this long after they
   * were poisoned; at least 30 days. Each is written to the audit. Default: never.
   */
  public InboxBuilder keepPoisoned(Duration time) {
    draft.keepPoisoned = time;
    return this;
  }

  /** Sees messages before they are deleted. May be given several times. */
  public InboxBuilder pruneListener(PruneListener listener) {
    draft.pruneListeners.add(listener);
    return this;
  }

  /** Is told of every event. May be given several times. */
  public InboxBuilder listener(InboxListener listener) {
    draft.listeners.add(listener);
    return this;
  }

  /**
   * Checks the options, then the database, then whose tables they are, and answers the inbox.
   *
   * @throws ConfigurationException with every problem of the first step that finds any
   * @throws dev.pigeonhole.store.StoreException if the database cannot be reached
   */
  public Inbox build() {
    return DefaultInbox.open(store, channels, draft);
  }
}
