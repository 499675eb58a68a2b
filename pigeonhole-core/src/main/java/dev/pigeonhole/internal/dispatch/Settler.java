package dev.pigeonhole.internal.dispatch;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.event.InboxEvent;
import dev.pigeonhole.store.Deliveries;
import dev.pigeonhole.store.Delivery;
import dev.pigeonhole.store.SettleResult;
import dev.pigeonhole.store.Settlement;
import dev.pigeonhole.store.StoreException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Set;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.event.Level;

/**
 * Writes down how attempts ended, in batches: whatever has ended while the last batch was written
 * goes into the next. An outcome is kept and tried again until the store has taken it; an
 * unreachable database costs time, never a result.
 *
 * <p>An outcome whose row another transaction has locked is set aside and comes back after a wait
 * of its own, together with the outcomes that are to be written then. So a lock delays nothing but
 * its own row.
 *
 * <p>An outcome that the database rejects, for example because a trigger or a constraint was added
 * to its tables, is kept as well and tried again alone. Its delivery stays open: without the
 * outcome, the handler would run again and again.
 */
final class Settler {
  /** An outcome that is not recorded yet, and the event that follows it. */
  private static final class Entry extends Aside.Item {
    final Settlement settlement;

    // The settling thread alone touches these.
    @Nullable Runnable event;

    /** Whether an earlier try may have written it, so that a refusal may be our own doing. */
    boolean doubtful;

    /** Whether the dispatcher has been notified. */
    boolean reported;

    /** Whether a stop waits for it: it is neither recorded and reported nor rejected. */
    boolean awaited = true;

    Entry(Settlement settlement, @Nullable Runnable event) {
      this.settlement = settlement;
      this.event = event;
    }
  }

  private static final Logger LOG = LoggerFactory.getLogger(Settler.class);
  private static final long MAX_PAUSE_MILLIS = 1_000;
  private static final Duration PATIENCE_BY_HAND = Duration.ofSeconds(5);

  private final Deliveries store;
  private final Events events;
  private final int batchSize;
  private final Consumer<List<Settled>> settled;
  private final BiConsumer<List<Delivery>, Boolean> waiting;
  private final LinkedBlockingQueue<Entry> queue = new LinkedBlockingQueue<>();
  private final AtomicInteger unwritten = new AtomicInteger();
  private final LogLimit lockedLines = new LogLimit(1, Duration.ofMinutes(1));
  private final LogLimit brokenLines = new LogLimit(1, Duration.ofMinutes(1));
  private final LogLimit rejectedLines = new LogLimit(1, Duration.ofMinutes(1));
  // Only the settling thread touches these.
  private List<Entry> batch = new ArrayList<>();
  private final Aside<Entry> aside = Aside.whileLocked();
  private final Aside<Entry> alone = new Aside<>(Duration.ofSeconds(1), Duration.ofMinutes(1));
  private int aloneAtOnce = 1;
  private boolean aloneWaitsForTheStore;
  private @Nullable StoreException lastRejection;
  private long pauseMillis;
  private int failedInARow;

  /**
   * @param waiting is notified, after each failed try, which deliveries have an attempt that is
   *     over but an outcome that cannot be written yet, and whether that lasts
   */
  Settler(
      Deliveries store,
      Events events,
      int batchSize,
      Consumer<List<Settled>> settled,
      BiConsumer<List<Delivery>, Boolean> waiting) {
    this.store = store;
    this.events = events;
    this.batchSize = batchSize;
    this.settled = settled;
    this.waiting = waiting;
  }

  void add(Settlement settlement, @Nullable Runnable event) {
    Entry entry = new Entry(settlement, event);
    unwritten.incrementAndGet();
    boolean added = false;
    try {
      added = queue.add(entry);
    } finally {
      if (!added) {
        unwritten.decrementAndGet();
      }
    }
  }

  /** Waits a moment for work and writes one batch. Throws what the store throws, batch kept. */
  void turn(long waitMillis) throws InterruptedException {
    bringBack();
    tryAlone(alone.due(System.nanoTime(), aloneAtOnce));
    if (batch.isEmpty()) {
      long wait = Math.min(waitMillis, aside.millisUntilNext(System.nanoTime()));
      Entry first = queue.poll(wait, TimeUnit.MILLISECONDS);
      if (first == null) {
        return;
      }
      batch.add(first);
    }
    if (pauseMillis > 0) {
      TimeUnit.MILLISECONDS.sleep(pauseMillis);
    }
    flush();
  }

  /**
   * Writes everything there is, on the calling thread.
   *
   * @throws StoreException as the store does, also if it rejects but one outcome, or if another
   *     transaction keeps a row locked
   */
  void flushAll() {
    long end = System.nanoTime() + PATIENCE_BY_HAND.toNanos();
    tryAlone(alone.all());
    while (!batch.isEmpty() || !queue.isEmpty() || !aside.isEmpty()) {
      if (batch.isEmpty() && queue.isEmpty()) {
        awaitLocks(end);
      }
      flush();
    }
    tryAlone(alone.all());
    if (!alone.isEmpty() && lastRejection != null) {
      throw lastRejection;
    }
  }

  private void awaitLocks(long end) {
    long now = System.nanoTime();
    if (now - end >= 0 || Thread.currentThread().isInterrupted()) {
      throw new StoreException(
          StoreException.Kind.TRANSIENT,
          ErrorCode.DATABASE_TRANSIENT,
          "Other transactions have locked the rows of %d deliveries to be settled. Try again when"
                  .formatted(aside.size())
              + " those transactions have ended.",
          null);
    }
    LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(aside.millisUntilNext(now)));
    bringBack();
  }

  /** Half a batch at most, so that there is always room for what has just ended. */
  private void bringBack() {
    if (!aside.isEmpty()) {
      int room = Math.max(1, batchSize / 2) - batch.size();
      batch.addAll(aside.due(System.nanoTime(), Math.max(0, room)));
    }
  }

  private void setAside(List<Entry> locked) {
    long now = System.nanoTime();
    List<Entry> lasting = aside.add(locked, now);
    if (!lasting.isEmpty() && lockedLines.leftOutBefore(now) >= 0) {
      LOG.warn(
          "Settling waits for a lock of another transaction: deliveries={} first={}",
          aside.size(),
          locked.get(0).settlement.delivery());
    }
    waiting.accept(deliveries(locked), false);
    if (!lasting.isEmpty()) {
      waiting.accept(deliveries(lasting), true);
    }
  }

  private static List<Delivery> deliveries(List<Entry> entries) {
    return entries.stream().map(entry -> entry.settlement.delivery()).toList();
  }

  /**
   * Whether all outcomes are recorded and reported, except those that the store rejects. Called
   * while the inbox stops.
   */
  boolean idle() {
    return unwritten.get() == 0;
  }

  private void flush() {
    queue.drainTo(batch, Math.max(0, batchSize - batch.size()));
    List<Entry> next = new ArrayList<>();
    try {
      write(batch);
      if (aloneWaitsForTheStore) {
        aloneWaitsForTheStore = false;
        alone.hurry(System.nanoTime()); // the store records again, so their obstacle may be gone
      }
      batch = next;
      pauseMillis = 0;
      failedInARow = 0;
    } catch (StoreException e) {
      failedInARow++;
      if (!mayBeOneRow(e)) {
        throw e;
      }
      writeOneByOne(e);
    }
  }

  /** A row that the database will not take, or that somebody keeps locked. */
  private boolean mayBeOneRow(StoreException e) {
    return e.code() != ErrorCode.DATABASE_UNREACHABLE
        && (e.kind() == StoreException.Kind.PERMANENT
            || (e.kind() == StoreException.Kind.TRANSIENT && failedInARow > 1 && batch.size() > 1));
  }

  /**
   * Writes each row alone, so that a row that the database rejects does not hold up the others. If
   * the database takes none of them, and its error is transient, the rows are not the cause.
   */
  private void writeOneByOne(StoreException why) {
    if (brokenLines.leftOutBefore(System.nanoTime()) >= 0) {
      LOG.warn("Settling {} deliveries failed; trying them one by one", batch.size(), why);
    }
    boolean any = false;
    Deque<Entry> rest = new ArrayDeque<>(batch);
    try {
      while (!rest.isEmpty()) {
        any |= writeAlone(rest.element());
        rest.remove();
      }
    } finally {
      batch = new ArrayList<>(rest);
    }
    if (!any && (why.kind() != StoreException.Kind.PERMANENT || missesRights(why))) {
      throw why;
    }
  }

  /** Rights may be missing on one table of several, such as that of failures. */
  private static boolean missesRights(StoreException e) {
    return e.code() == ErrorCode.DATABASE_PRIVILEGE;
  }

  /**
   * Writes each outcome alone. If the database takes all of them, the obstacle may be gone, so the
   * other outcomes are due, too.
   */
  private void tryAlone(List<Entry> entries) {
    boolean taken = true;
    Deque<Entry> rest = new ArrayDeque<>(entries);
    try {
      while (!rest.isEmpty()) {
        await(rest.element(), true);
        taken &= writeAlone(rest.element());
        rest.remove();
      }
    } finally {
      if (!rest.isEmpty()) {
        alone.add(List.copyOf(rest), System.nanoTime());
      }
    }
    if (!entries.isEmpty()) {
      aloneAtOnce = taken ? batchSize : 1;
      if (taken) {
        alone.hurry(System.nanoTime());
      }
    }
  }

  /** False if the database does not take it. Then it is tried again, alone. */
  private boolean writeAlone(Entry entry) {
    try {
      write(List.of(entry));
      return true;
    } catch (StoreException e) {
      if (e.code() == ErrorCode.DATABASE_UNREACHABLE) {
        throw e;
      }
      keepAlone(entry, e);
      return false;
    }
  }

  private void keepAlone(Entry entry, StoreException e) {
    lastRejection = e;
    alone.add(List.of(entry), System.nanoTime());
    boolean rejected = e.kind() == StoreException.Kind.PERMANENT;
    await(entry, !rejected);
    aloneWaitsForTheStore |= !rejected;
    waiting.accept(List.of(entry.settlement.delivery()), true);
    if (rejectedLines.leftOutBefore(System.nanoTime()) >= 0) {
      LOG.atLevel(rejected ? Level.ERROR : Level.WARN)
          .setCause(e)
          .log(
              "The database {} the outcomes of {} deliveries. The deliveries stay open, and the"
                  + " outcomes are tried again. Remove the cause shown below. The last delivery: {}",
              rejected ? "rejects" : "cannot record",
              alone.size(),
              entry.settlement.delivery());
    }
  }

  private void write(List<Entry> all) {
    long began = System.nanoTime();
    SettleResult result = settle(all);
    long took = System.nanoTime() - began;
    if (result.locked().isEmpty()) {
      finish(all, result.refused(), took);
      return;
    }
    List<Entry> recorded = new ArrayList<>();
    List<Entry> locked = new ArrayList<>();
    for (Entry entry : all) {
      (result.locked().contains(entry.settlement.delivery()) ? locked : recorded).add(entry);
    }
    finish(recorded, result.refused(), took);
    setAside(locked);
  }

  private void finish(List<Entry> entries, Set<Delivery> refused, long took) {
    if (entries.isEmpty()) {
      return;
    }
    List<Settled> results = new ArrayList<>(entries.size());
    for (Entry entry : entries) {
      if (!entry.reported) {
        boolean lost = !entry.doubtful && refused.contains(entry.settlement.delivery());
        results.add(new Settled(entry.settlement, lost));
        entry.event = lost ? null : entry.event;
      }
    }
    doubt(entries); // whatever fails from here on, it is written already, and is written again
    settled.accept(results);
    entries.forEach(entry -> entry.reported = true);
    if (!events.silent()) {
      events.tell(new InboxEvent.Settled(events.inbox(), entries.size(), Duration.ofNanos(took)));
    }
    entries.forEach(Settler::tell);
    int over = 0;
    for (Entry entry : entries) {
      over += entry.awaited ? 1 : 0;
      entry.awaited = false;
    }
    unwritten.addAndGet(-over);
  }

  private void await(Entry entry, boolean wanted) {
    if (entry.awaited != wanted) {
      entry.awaited = wanted;
      unwritten.addAndGet(wanted ? 1 : -1);
    }
  }

  private SettleResult settle(List<Entry> entries) {
    try {
      return store.settle(entries.stream().map(entry -> entry.settlement).toList());
    } catch (StoreException e) {
      if (e.kind() == StoreException.Kind.UNKNOWN) {
        doubt(entries);
      }
      if (e.kind() != StoreException.Kind.PERMANENT || missesRights(e)) {
        pauseMillis = Math.min(MAX_PAUSE_MILLIS, Math.max(50, pauseMillis * 2));
      }
      throw e;
    } catch (RuntimeException | Error e) {
      doubt(entries); // whatever it was, it may have come after the commit
      throw e;
    }
  }

  private static void doubt(List<Entry> entries) {
    entries.forEach(entry -> entry.doubtful = true);
  }

  /** What is written stays written, whatever telling it brings. */
  private static void tell(Entry entry) {
    Runnable event = entry.event;
    entry.event = null;
    try {
      if (event != null) {
        event.run();
      }
    } catch (RuntimeException e) {
      LOG.warn("An event could not be told", e);
    }
  }
}
