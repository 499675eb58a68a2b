package dev.pigeonhole.internal.dispatch;

import dev.pigeonhole.internal.registry.BoundHandler;
import dev.pigeonhole.store.Cell;
import dev.pigeonhole.store.Delivery;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BiConsumer;
import java.util.function.BooleanSupplier;
import java.util.function.Predicate;

/**
 * Everything one handler has on this node: rows waiting to be loaded, work waiting for a slot, and
 * the slots themselves. Handlers share nothing here, so one that is slow or stuck holds nobody up.
 */
final class HandlerLine {
  // After so many groups, or so long, a worker queues up again: an executor may have few threads.
  private static final int GROUPS_IN_A_ROW = 16;
  private static final long TURN = Duration.ofMillis(1).toNanos();

  final BoundHandler handler;
  final int slots;
  final int capacity;
  final RateLimit rate; // the dispatcher's thread alone
  final Breaker breaker;

  // The dispatcher's thread alone touches these.
  final Places<Delivery> ready = new Places<>();
  final Map<Long, KeyLine> keys = new HashMap<>();
  int occupancy; // without the placed ones
  int placed;
  int waitingInKeys;
  boolean forgotKeys; // rows that follow a head that is not due
  boolean refused; // what would be next was not admitted at the last turn
  volatile boolean paused; // read by whoever looks at the backlog, too

  private final Executor executor;
  private final BooleanSupplier quiet;
  private final BiConsumer<HandlerLine, List<Work>> runner;
  private final Runnable slotFree;
  private final Places<Work> queue = new Places<>();
  private final AtomicInteger queued = new AtomicInteger();
  private final ContentBudget content;
  private final AtomicInteger active = new AtomicInteger();
  private final AtomicInteger stuck = new AtomicInteger();

  /**
   * @param content what may wait for the slots
   * @param quiet while true no work is started, because a suspect runs alone
   * @param runner runs a group of work to its end on the calling thread
   * @param slotFree is called after a slot has become free, if the handler has a rate
   */
  HandlerLine(
      BoundHandler handler,
      int slots,
      int capacity,
      ContentBudget content,
      RateLimit rate,
      Breaker breaker,
      Executor executor,
      BooleanSupplier quiet,
      BiConsumer<HandlerLine, List<Work>> runner,
      Runnable slotFree) {
    this.handler = handler;
    this.slots = slots;
    this.capacity = capacity;
    this.content = content;
    this.rate = rate;
    this.breaker = breaker;
    this.executor = executor;
    this.quiet = quiet;
    this.runner = runner;
    this.slotFree = slotFree;
  }

  /** How many more rows it takes; none while it is paused, so that none is read for it. */
  int room() {
    return paused ? 0 : capacity - occupancy;
  }

  /**
   * Whether there is room for a row with a place. Such rows have room of their own, so that what
   * was read before keeps nobody out who goes before it; and half of it is closed to those who go
   * behind what comes now, for they stay longest.
   */
  boolean takesPlaced(long place, long normal) {
    return !paused && placed < (place <= normal ? 2 * window() : window());
  }

  /** How many more rows with a place it takes at most. */
  int roomForPlaced() {
    return paused ? 0 : 2 * window() - placed;
  }

  /** Whether so many of the rows with a place are gone that reading others is worth it. */
  boolean fewPlaced() {
    return !paused && placed * 2 <= window();
  }

  private int window() {
    return Math.max(16, capacity / 4);
  }

  /** The row is open here from now on. */
  void entered(Delivery row) {
    if (row.place() == 0) {
      occupancy++;
    } else {
      placed++;
    }
  }

  /** The row is open here no longer. */
  void left(Delivery row) {
    if (row.place() == 0) {
      occupancy--;
    } else {
      placed--;
    }
  }

  /** Lets a row wait to be loaded, behind those that came before it or at its place. */
  void waits(Delivery row, long normal) {
    if (row.place() == 0) {
      ready.add(row, normal);
    } else {
      ready.addPlaced(row, row.place());
    }
  }

  /** Lets a row wait to be loaded before all others: it was its turn, and the load was full. */
  void waitsFirst(Delivery row) {
    rate.giveBack();
    ready.addPlaced(row, Long.MIN_VALUE);
  }

  /**
   * How many rows may be handed to the slots now: no more than their content may take of the
   * memory, but one for each slot. With a rate no more than the free slots can begin: what waited
   * for a busy slot would begin all at once.
   */
  int takes(int most) {
    int inQueue = queued.get();
    int inMemory = Math.min(most, Math.max(slots - inQueue, content.rows()));
    if (!rate.limited()) {
      return inMemory;
    }
    int free = (allowed() - active.get()) * handler.spec().together();
    return breaker.closed(System.nanoTime())
        ? 0
        : Math.max(0, Math.min(inMemory, Math.min(free, startable() - inQueue)));
  }

  /** Whether a row that has just come in may begin at once; then it is counted as begun. */
  boolean begins() {
    return ready.isEmpty() // or it would overtake what waits for the handler's rate
        && takes(1) > 0
        && rate.take(System.nanoTime());
  }

  /** How many deliveries its slots can have begun at once. */
  int startable() {
    return slots * handler.spec().together();
  }

  /** Hands work to the slots. */
  void enqueue(Work work) {
    if (work.delivery().place() == 0) {
      queue.add(work, work.place());
    } else {
      queue.addPlaced(work, work.place());
    }
    queued.incrementAndGet();
    content.add(work);
  }

  /** Makes sure that queued work finds a worker, up to the slots of this handler. */
  void wakeWorkers() {
    for (int wanted = queued.get(); wanted > 0 && !quiet.getAsBoolean(); wanted--) {
      int now = active.get();
      if (now >= allowed() || breaker.closed(System.nanoTime())) {
        return;
      }
      if (active.compareAndSet(now, now + 1)) {
        execute(this::work);
      }
    }
  }

  /** An executor that refuses, or has no thread left, must not cost a slot. */
  private void execute(Runnable task) {
    try {
      executor.execute(task);
    } catch (RuntimeException | Error e) {
      active.decrementAndGet();
      throw e;
    }
  }

  /** Runs one piece of work while everything else is quiet. */
  void runAlone(Work work) {
    active.incrementAndGet();
    execute(
        () -> {
          try {
            runner.accept(this, List.of(work));
          } finally {
            leave();
          }
        });
  }

  /** Whether no attempt of this handler is under way, stuck ones apart. */
  boolean resting() {
    return active.get() - stuck.get() <= 0;
  }

  /** How long nobody may begin although work is there; zero for no such reason. */
  long nanosUntilProbe(long now) {
    return queued.get() == 0 && ready.isEmpty() ? 0 : breaker.nanosUntilNext(now);
  }

  /** Takes back work of these cells that no slot has begun. */
  List<Work> withdraw(Predicate<Cell> which) {
    List<Work> withdrawn = queue.withdraw(work -> which.test(work.delivery().cell()));
    queued.addAndGet(-withdrawn.size());
    withdrawn.forEach(content::remove);
    return withdrawn;
  }

  /** Forgets everything but what slots have begun; answers the work that was queued for them. */
  List<Work> reset() {
    ready.withdraw(any -> true);
    keys.clear();
    occupancy = 0;
    placed = 0;
    waitingInKeys = 0;
    return withdraw(any -> true);
  }

  /**
   * A slot's attempt has timed out and does not end. Allows a plain handler a spare slot, up to as
   * many as there are slots, and answers how many are stuck now.
   */
  int slotStuck() {
    return stuck.incrementAndGet();
  }

  /** A stuck attempt has ended after all. Answers how many are still stuck. */
  int slotFreed() {
    return stuck.decrementAndGet();
  }

  /** A stuck transaction keeps its connection; spare slots would take those of everybody else. */
  private int allowed() {
    return handler.spec().isTransactional() ? slots : slots + Math.min(stuck.get(), slots);
  }

  private void work() {
    try {
      long began = System.nanoTime();
      for (int i = 0; i < GROUPS_IN_A_ROW && (i == 0 || System.nanoTime() - began < TURN); i++) {
        List<Work> group = take();
        if (group.isEmpty()) {
          break;
        }
        runner.accept(this, group);
        group.forEach(work -> breaker.over(work.delivery()));
      }
    } finally {
      leave();
    }
    try {
      wakeWorkers(); // there may be more, or something was queued since the last look
    } catch (RejectedExecutionException e) {
      // The inbox has stopped, or its executor has no room now: the next turn wakes them again.
    }
  }

  /** The news of a settle may have come while the slot still counted as busy. */
  private void leave() {
    active.decrementAndGet();
    if (rate.limited()) {
      slotFree.run();
    }
  }

  private List<Work> take() {
    Breaker.Leave leave = breaker.ask(System.nanoTime());
    int most =
        switch (leave) {
          case ALL -> handler.spec().together();
          case ONE -> 1;
          case NONE -> 0;
        };
    List<Work> group = new ArrayList<>(most); // whatever is polled has a place in it
    while (group.size() < most && !quiet.getAsBoolean() && active.get() <= allowed()) {
      Work work = queue.poll();
      if (work == null) {
        break;
      }
      queued.decrementAndGet();
      content.remove(work);
      group.add(work);
    }
    if (leave == Breaker.Leave.ONE) {
      breaker.probing(group.isEmpty() ? null : group.get(0).delivery());
    }
    return group;
  }
}
