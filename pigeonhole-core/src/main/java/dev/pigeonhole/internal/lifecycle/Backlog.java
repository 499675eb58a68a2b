package dev.pigeonhole.internal.lifecycle;

import dev.pigeonhole.event.InboxEvent;
import dev.pigeonhole.internal.dispatch.Events;
import dev.pigeonhole.internal.registry.BoundHandler;
import dev.pigeonhole.store.Cell;
import dev.pigeonhole.store.Deliveries;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Watches how much fresh work waits, and pauses the sources while it is too much.
 *
 * <p>A handler that is further behind than its own limit is told of and no longer counted, so one
 * that is slow or stuck never stops the messages of its siblings; the sources pause when the others
 * together pass the limit of the inbox, or when none is left to count. Whoever is over a limit has
 * to come down to half of it. Deliveries that wait for a time, behind a poisoned one or for a
 * paused handler are no pressure: nobody could run them sooner.
 */
final class Backlog {
  private static final Logger LOG = LoggerFactory.getLogger(Backlog.class);

  private final Deliveries store;
  private final Events events;
  private final Sources sources;
  private final List<BoundHandler> handlers;
  private final Predicate<BoundHandler> resting;
  private final List<Cell> cells = new ArrayList<>();
  private final int limit;
  private final int handlerLimit;

  // One thread's own, but for whoever asks whether it presses.
  private final Set<String> behind = new HashSet<>();
  private boolean paused;
  private volatile boolean pressing;

  Backlog(
      Deliveries store,
      Events events,
      Sources sources,
      List<BoundHandler> handlers,
      Predicate<BoundHandler> resting,
      InboxSettings settings) {
    this.store = store;
    this.events = events;
    this.sources = sources;
    this.handlers = handlers;
    this.resting = resting;
    this.limit = settings.maxBacklog();
    this.handlerLimit = settings.maxHandlerBacklog();
    for (BoundHandler handler : handlers) {
      for (int family : handler.families()) {
        for (int lane = 0; lane < settings.lanes(); lane++) {
          cells.add(new Cell(lane, family));
        }
      }
    }
  }

  /** Counts once and acts on it. */
  void look() {
    if (handlers.isEmpty()) {
      return;
    }
    Map<Integer, Integer> counted = store.waiting(cells, handlerLimit + 1);
    long sum = 0;
    int inTime = 0;
    boolean anyBehind = false;
    for (BoundHandler handler : handlers) {
      if (resting.test(handler)) {
        inTime++;
        continue;
      }
      int waiting =
          handler.families().stream().mapToInt(family -> counted.getOrDefault(family, 0)).sum();
      if (!isBehind(handler.key(), waiting)) {
        sum += waiting;
        inTime++;
      } else {
        anyBehind = true;
      }
    }
    pauseOrResume(inTime == 0 || sum > (paused ? limit / 2 : limit), sum, inTime);
    pressing = paused || anyBehind;
  }

  /** Whether so much waits, be it for a single handler, that whatever else can wait should. */
  boolean pressing() {
    return pressing;
  }

  private boolean isBehind(String handler, int waiting) {
    boolean was = behind.contains(handler);
    boolean is = waiting > (was ? handlerLimit / 2 : handlerLimit);
    if (is && !was) {
      behind.add(handler);
      LOG.warn(
          "Handler {} of inbox {} is behind: more than {} deliveries wait for it",
          handler,
          events.inbox(),
          handlerLimit);
      events.tell(new InboxEvent.HandlerBehind(events.inbox(), handler, handlerLimit));
    } else if (was && !is) {
      behind.remove(handler);
      LOG.info("Handler {} of inbox {} has caught up", handler, events.inbox());
      events.tell(new InboxEvent.HandlerCaughtUp(events.inbox(), handler));
    }
    return is;
  }

  private void pauseOrResume(boolean full, long sum, int inTime) {
    if (full && !paused) {
      String reason =
          inTime == 0
              ? "every handler is more than %d deliveries behind".formatted(handlerLimit)
              : "%d deliveries wait, more than maxBacklog %d".formatted(sum, limit);
      paused = true;
      LOG.atWarn()
          .addKeyValue("pigeonhole.event", "sources-paused")
          .addKeyValue("pigeonhole.inbox", events.inbox())
          .log("Inbox {} pauses its sources: {}", events.inbox(), reason);
      sources.pause(reason);
      events.tell(new InboxEvent.SourcesPaused(events.inbox(), reason));
    } else if (paused && !full) {
      paused = false;
      LOG.info("Inbox {} resumes its sources", events.inbox());
      sources.resume();
      events.tell(new InboxEvent.SourcesResumed(events.inbox()));
    }
  }
}
