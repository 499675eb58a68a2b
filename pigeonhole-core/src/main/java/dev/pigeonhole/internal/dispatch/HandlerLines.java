package dev.pigeonhole.internal.dispatch;

import dev.pigeonhole.event.InboxEvent;
import dev.pigeonhole.internal.registry.BoundHandler;
import dev.pigeonhole.store.Cell;
import dev.pigeonhole.store.Delivery;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The lines of this node's handlers, and what each may begin now: nothing while an operator has
 * paused it, one delivery at a time while it has paused itself, and no more than this node's part
 * of its rate. Touched by the dispatcher's thread alone, but for {@link #resting}.
 */
final class HandlerLines {
  private static final Logger LOG = LoggerFactory.getLogger(HandlerLines.class);

  private final Map<Integer, HandlerLine> byFamily;
  private final List<HandlerLine> all;
  private final Events events;
  private int turns;

  /**
   * @param byFamily one line for all families of a handler
   */
  HandlerLines(Map<Integer, HandlerLine> byFamily, Events events) {
    this.byFamily = Map.copyOf(byFamily);
    this.all = List.copyOf(new HashSet<>(byFamily.values()));
    this.events = events;
  }

  HandlerLine of(Cell cell) {
    HandlerLine line = byFamily.get(cell.handler());
    if (line == null) {
      throw new IllegalStateException("no handler for " + cell);
    }
    return line;
  }

  List<HandlerLine> all() {
    return all;
  }

  void wakeWorkers() {
    all.forEach(HandlerLine::wakeWorkers);
  }

  /** Whether no attempt of any handler is under way, stuck ones apart. */
  boolean nothingRuns() {
    return all.stream().allMatch(HandlerLine::resting);
  }

  // ---- what may begin

  /**
   * Takes out the rows that may begin now, of each handler at most so many. Each call begins with
   * another handler, because a load has a limit, and the last rows may have to wait for the next
   * one.
   *
   * @param admits decides for each row whether it may begin; one that may not also keeps back those
   *     behind it
   */
  List<Delivery> begin(int most, Predicate<Delivery> admits) {
    List<Delivery> rows = new ArrayList<>();
    long now = System.nanoTime();
    turns++;
    for (int each = 0; each < all.size(); each++) {
      HandlerLine line = all.get(Math.floorMod(turns + each, all.size()));
      int takes = line.takes(most);
      line.refused = false;
      for (int i = 0; i < takes; i++) {
        Delivery row = line.ready.peek();
        // The rate first: what is admitted counts as under way.
        if (row == null || !line.rate.allows(now)) {
          break;
        }
        line.refused = !admits.test(row);
        if (line.refused) {
          break;
        }
        line.rate.take(now);
        line.ready.poll();
        rows.add(row);
      }
    }
    return rows;
  }

  /**
   * How long until one of the handlers for which something waits may begin it. What was not
   * admitted is admitted when something else has ended, and news of that ends the wait.
   *
   * @param quiet while true nothing is started, because a suspect runs alone
   */
  long nanosUntilNext(long now, boolean quiet) {
    long next = Long.MAX_VALUE;
    for (HandlerLine line : all) {
      if (!line.ready.isEmpty() && !line.refused && !quiet && line.takes(1) > 0) {
        next = Math.min(next, line.rate.nanosUntilNext(now));
      }
      long probe = line.nanosUntilProbe(now);
      if (probe > 0) {
        next = Math.min(next, probe);
      }
    }
    return next;
  }

  /** A node has as much of a handler's rate as it has of its cells. */
  void shareRates(Collection<CellState> owned) {
    Map<HandlerLine, Integer> counts = new HashMap<>();
    owned.forEach(state -> counts.merge(of(state.cell), 1, Integer::sum));
    long now = System.nanoTime();
    all.forEach(line -> line.rate.owns(counts.getOrDefault(line, 0), now));
  }

  // ---- pauses

  /** Whether an operator has paused it, or it has paused itself. Asked by any thread. */
  boolean resting(BoundHandler handler) {
    return all.stream()
        .anyMatch(line -> line.handler == handler && (line.paused || line.breaker.paused()));
  }

  /**
   * These are the ones that an operator has paused.
   *
   * @param giveUp is given each line that was not paused before
   * @param goOn is run for each that no longer is
   */
  void paused(Set<Integer> families, Consumer<HandlerLine> giveUp, Runnable goOn) {
    for (HandlerLine line : all) {
      boolean pause = line.handler.ids().stream().anyMatch(id -> families.contains(id.family()));
      if (pause && !line.paused) {
        line.paused = true;
        giveUp.accept(line);
        LOG.info("Handler '{}' of inbox {} was paused", line.handler.key(), events.inbox());
        events.tell(
            new InboxEvent.HandlerPaused(events.inbox(), line.handler.key(), "by an operator"));
      } else if (!pause && line.paused) {
        line.paused = false;
        goOn.run();
        LOG.info("Handler '{}' of inbox {} goes on", line.handler.key(), events.inbox());
        events.tell(new InboxEvent.HandlerResumed(events.inbox(), line.handler.key()));
      }
    }
  }
}
