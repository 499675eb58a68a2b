package dev.pigeonhole.internal.lifecycle;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.RunningInbox;
import dev.pigeonhole.internal.dispatch.DirectChannels;
import dev.pigeonhole.internal.registry.ChannelSpec;
import dev.pigeonhole.transport.MessageSource;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.UnaryOperator;

/** The sources of direct channels. Nothing waits behind them, so nothing ever pauses them. */
public final class DirectFeeds {
  private static final Duration PATIENCE = Duration.ofSeconds(30);

  private final Map<String, ChannelSpec> channels;
  private final List<Sources.Feed> feeds;
  private final AtomicBoolean running = new AtomicBoolean();

  private DirectFeeds(Map<String, ChannelSpec> channels, List<Sources.Feed> feeds) {
    this.channels = channels;
    this.feeds = feeds;
  }

  /** No sources. */
  public static DirectFeeds none() {
    return new DirectFeeds(Map.of(), List.of());
  }

  /** The same with one more. */
  public DirectFeeds with(ChannelSpec channel, MessageSource source) {
    Map<String, ChannelSpec> more = new HashMap<>(channels);
    more.put(channel.name(), channel);
    List<Sources.Feed> all = new ArrayList<>(feeds);
    all.add(new Sources.Feed(channel.name(), source));
    return new DirectFeeds(Map.copyOf(more), List.copyOf(all));
  }

  public boolean isEmpty() {
    return feeds.isEmpty();
  }

  /** Starts all of them, or none. */
  public RunningInbox start(DirectChannels direct) {
    if (!running.compareAndSet(false, true)) {
      throw new InboxException(
          ErrorCode.INBOX_RUNNING,
          "The sources of direct channels are running already. Close the running ones first.");
    }
    Sources sources = new Sources(feeds, name -> router(channel(name), direct));
    try {
      sources.start(PATIENCE);
    } catch (Throwable e) {
      running.set(false);
      throw e;
    }
    return new Running(sources, running);
  }

  private ChannelSpec channel(String name) {
    return Objects.requireNonNull(channels.get(name));
  }

  private static Router router(ChannelSpec channel, DirectChannels direct) {
    return new Router(
        channel,
        UnaryOperator.identity(),
        messages -> direct.accept(channel, messages),
        unreadable -> direct.tellRejected(channel, unreadable));
  }

  private static final class Running implements RunningInbox {
    private final Sources sources;
    private final AtomicBoolean running;
    private final AtomicBoolean closing = new AtomicBoolean();
    private final CountDownLatch closed = new CountDownLatch(1);

    Running(Sources sources, AtomicBoolean running) {
      this.sources = sources;
      this.running = running;
    }

    @Override
    public void awaitStopped() throws InterruptedException {
      closed.await();
    }

    @Override
    public boolean healthy() {
      return !closing.get();
    }

    @Override
    public Map<String, String> sourceTroubles() {
      return sources.troubles();
    }

    @Override
    public void close() {
      if (closing.compareAndSet(false, true)) {
        sources.stop(PATIENCE);
        running.set(false);
        closed.countDown();
        return;
      }
      try {
        closed.await(); // somebody else is at it
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }
  }
}
