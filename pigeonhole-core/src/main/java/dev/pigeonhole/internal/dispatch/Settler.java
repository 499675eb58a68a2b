package dev.pigeonhole.internal.dispatch;

import dev.pigeonhole.store.Deliveries;
import dev.pigeonhole.store.Delivery;
import dev.pigeonhole.store.Settlement;
import dev.pigeonhole.store.StoreException;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Writes down how attempts ended, in batches: whatever has ended while the last batch was written
 * goes into the next. An outcome is kept and tried again until the store has taken it; an
 * unreachable database costs time, never a result.
 */
final class Settler {
  /** An outcome on its way, and what to tell once it is written. */
  record Entry(Settlement settlement, @Nullable Runnable event) {}

  private static final Logger LOG = LoggerFactory.getLogger(Settler.class);
  private static final long MAX_PAUSE_MILLIS = 1_000;

  private final Deliveries store;
  private final int batchSize;
  private final Consumer<List<Settled>> settled;
  private final LinkedBlockingQueue<Entry> queue = new LinkedBlockingQueue<>();
  private final AtomicInteger unwritten = new AtomicInteger();
  // Only the settling thread touches these three.
  private List<Entry> batch = new ArrayList<>();
  private boolean unknownBefore;
  private long pauseMillis;

  Settler(Deliveries store, int batchSize, Consumer<List<Settled>> settled) {
    this.store = store;
    this.batchSize = batchSize;
    this.settled = settled;
  }

  void add(Settlement settlement, @Nullable Runnable event) {
    unwritten.incrementAndGet();
    queue.add(new Entry(settlement, event));
  }

  /** Waits a moment for work and writes one batch. Throws what the store throws, batch kept. */
  void turn(long waitMillis) throws InterruptedException {
    if (batch.isEmpty()) {
      Entry first = queue.poll(waitMillis, TimeUnit.MILLISECONDS);
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

  /** Writes everything there is, on the calling thread. */
  void flushAll() {
    while (!batch.isEmpty() || !queue.isEmpty()) {
      flush();
    }
  }

  /** Whether everything that was added is written and told. Asked by whoever stops the inbox. */
  boolean idle() {
    return unwritten.get() == 0;
  }

  private void flush() {
    queue.drainTo(batch, Math.max(0, batchSize - batch.size()));
    try {
      write(batch, unknownBefore);
      batch = new ArrayList<>();
      unknownBefore = false;
      pauseMillis = 0;
    } catch (StoreException e) {
      if (e.kind() == StoreException.Kind.PERMANENT) {
        writeOneByOne(e);
        return;
      }
      unknownBefore |= e.kind() == StoreException.Kind.UNKNOWN;
      pauseMillis = Math.min(MAX_PAUSE_MILLIS, Math.max(50, pauseMillis * 2));
      throw e;
    } catch (RuntimeException | Error e) {
      unknownBefore = true; // whatever it was, it may have come after the commit
      throw e;
    }
  }

  /** One row that the database will never take must not keep the others. */
  private void writeOneByOne(StoreException why) {
    LOG.warn("Settling {} deliveries failed for good; trying them one by one", batch.size(), why);
    List<Entry> entries = batch;
    batch = new ArrayList<>();
    for (Entry entry : entries) {
      try {
        write(List.of(entry), unknownBefore);
      } catch (StoreException e) {
        if (e.kind() != StoreException.Kind.PERMANENT) {
          batch.add(entry);
          continue;
        }
        LOG.error("Delivery {} cannot be settled; it will be run again", entry.settlement(), e);
        settled.accept(List.of(new Settled(entry.settlement(), true)));
        unwritten.decrementAndGet();
      }
    }
    unknownBefore = false;
  }

  private void write(List<Entry> entries, boolean resolving) {
    List<Settlement> settlements = new ArrayList<>(entries.size());
    for (Entry entry : entries) {
      settlements.add(entry.settlement());
    }
    Set<Delivery> refused = store.settle(settlements);
    List<Settled> results = new ArrayList<>(entries.size());
    for (Entry entry : entries) {
      // After a lost answer our own first try may be what refuses the second.
      boolean lost = !resolving && refused.contains(entry.settlement().delivery());
      results.add(new Settled(entry.settlement(), lost));
    }
    settled.accept(results);
    for (int i = 0; i < results.size(); i++) {
      if (!results.get(i).refused()) {
        tell(entries.get(i).event());
      }
    }
    unwritten.addAndGet(-entries.size());
  }

  /** What is written stays written, whatever telling it brings. */
  private static void tell(@Nullable Runnable event) {
    try {
      if (event != null) {
        event.run();
      }
    } catch (RuntimeException e) {
      LOG.warn("An event could not be told", e);
    }
  }
}
