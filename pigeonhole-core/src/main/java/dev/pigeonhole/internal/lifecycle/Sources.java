package dev.pigeonhole.internal.lifecycle;

import dev.pigeonhole.transport.Acceptor;
import dev.pigeonhole.transport.MessageSource;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The sources of an inbox, or of direct channels, moved together. One that fails does not keep the
 * others.
 */
final class Sources {
  private static final Logger LOG = LoggerFactory.getLogger(Sources.class);

  /** A source and the channel it feeds. */
  record Feed(String channel, MessageSource source) {}

  private final List<Feed> feeds;
  private final Function<String, Acceptor> acceptors;
  private final List<Feed> started = new ArrayList<>(); // guarded by this

  /**
   * @param acceptors channel name → where its messages go
   */
  Sources(List<Feed> feeds, Function<String, Acceptor> acceptors) {
    this.feeds = feeds;
    this.acceptors = acceptors;
  }

  /** Starts all or, after a failure, none. */
  synchronized void start(Duration patience) {
    for (Feed feed : feeds) {
      try {
        feed.source().start(acceptors.apply(feed.channel()));
        started.add(feed);
      } catch (Throwable e) {
        stop(patience);
        throw e;
      }
    }
  }

  synchronized void pause(String reason) {
    each("paused", source -> source.pause(reason));
  }

  synchronized void resume() {
    each("resumed", MessageSource::resume);
  }

  /** All of them together have this long. */
  synchronized void stop(Duration patience) {
    long end = System.nanoTime() + patience.toNanos();
    each(
        "stopped",
        source -> {
          long left = Math.max(0, end - System.nanoTime());
          source.stop(Duration.ofMillis((left + 999_999) / 1_000_000));
        });
    started.clear();
  }

  /** Without the lock, which a stop may hold for long: the sources themselves are always there. */
  Map<String, String> troubles() {
    Map<String, String> troubles = new TreeMap<>();
    for (Feed feed : feeds) {
      feed.source().trouble().ifPresent(text -> troubles.put(feed.source().name(), text));
    }
    return troubles;
  }

  private void each(String what, Consumer<MessageSource> action) {
    for (Feed feed : started) {
      try {
        action.accept(feed.source());
      } catch (Throwable e) { // such as classes that are gone while the application stops
        LOG.error("Source {} could not be {}", feed.source().name(), what, e);
      }
    }
  }
}
