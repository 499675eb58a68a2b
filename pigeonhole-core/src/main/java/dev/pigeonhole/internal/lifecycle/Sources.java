package dev.pigeonhole.internal.lifecycle;

import dev.pigeonhole.transport.Acceptor;
import dev.pigeonhole.transport.MessageSource;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
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

  /** What a source may need to return after its patience. */
  private static final Duration BEYOND_PATIENCE = Duration.ofMillis(300);

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

  /**
   * Stops all at the same time, so that one that hangs neither lets the others receive meanwhile
   * nor uses up their patience. An interrupt reaches all of them.
   */
  synchronized void stop(Duration patience) {
    long end = System.nanoTime() + patience.plus(BEYOND_PATIENCE).toNanos();
    List<Thread> stopping = new ArrayList<>();
    for (Feed feed : started) {
      Runnable stop = () -> on(feed, "stopped", source -> source.stop(patience));
      Thread thread = new Thread(stop, "pigeonhole-" + feed.channel() + "-source-stop");
      thread.setDaemon(true);
      try {
        thread.start();
        stopping.add(thread);
      } catch (OutOfMemoryError e) { // no more threads
        stop.run();
      }
    }
    started.clear();
    if (!Uninterrupted.await(end, left -> awaitAll(stopping, end))) {
      LOG.warn("Sources still stopping after {}: threads={}", patience, stopping);
    }
  }

  private static boolean awaitAll(List<Thread> threads, long end) throws InterruptedException {
    try {
      for (Thread thread : threads) {
        long left = end - System.nanoTime();
        if (left > 0) {
          TimeUnit.NANOSECONDS.timedJoin(thread, left);
        }
      }
    } catch (InterruptedException e) {
      threads.forEach(Thread::interrupt);
      throw e;
    }
    return threads.stream().noneMatch(Thread::isAlive);
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
    started.forEach(feed -> on(feed, what, action));
  }

  private static void on(Feed feed, String what, Consumer<MessageSource> action) {
    try {
      action.accept(feed.source());
    } catch (Throwable e) { // such as classes that are gone while the application stops
      LOG.error("Source {} could not be {}", feed.source().name(), what, e);
    }
  }
}
