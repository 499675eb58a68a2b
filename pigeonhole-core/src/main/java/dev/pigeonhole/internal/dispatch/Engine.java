package dev.pigeonhole.internal.dispatch;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.Interceptor;
import dev.pigeonhole.internal.registry.Backoff;
import dev.pigeonhole.internal.registry.BoundHandler;
import dev.pigeonhole.internal.registry.Payloads;
import dev.pigeonhole.internal.registry.Registry;
import dev.pigeonhole.internal.rescue.HandlerKeys;
import dev.pigeonhole.internal.rescue.LastHeartbeat;
import dev.pigeonhole.internal.rescue.Node;
import dev.pigeonhole.store.Cell;
import dev.pigeonhole.store.CellRow;
import dev.pigeonhole.store.Delivery;
import dev.pigeonhole.store.InboxStore;
import dev.pigeonhole.store.Settlement;
import dev.pigeonhole.store.StoreException;
import dev.pigeonhole.transport.Publisher;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Executor;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The parts of a working inbox, put together: node, dispatcher, slots and settler. It has no thread
 * of its own; whoever drives it calls the three turns, from three threads or from one.
 */
public final class Engine {
  /** What the engine is told; see {@code InboxBuilder} for what each means. */
  public record Settings(
      String nodeName,
      Backoff retry,
      int concurrency,
      int lanes,
      int batchSize,
      int maxCrashes,
      Duration pollMin,
      Duration pollMax,
      Duration beat,
      Duration deadAfter,
      Duration startLimit,
      Duration holdUnknownKeys,
      List<Interceptor> interceptors,
      @Nullable Publisher outbox) {}

  /**
   * One is read, one runs, one is settled, and one waits for its turn: nobody waits for another.
   */
  private static final int BATCHES_AT_ONCE = 4;

  /** How often in a row a drain finds that nothing may start, before it gives up. */
  private static final int MOST_IN_VAIN = 10;

  private final Node node;
  private final Settler settler;
  private final Runner runner;
  private final HandlerLines lines;
  private final Dispatcher dispatcher;
  private final OpenSet open = new OpenSet();
  private final Timeouts timeouts;
  private final Duration startLimit;
  private final AtomicInteger attempts = new AtomicInteger();
  private volatile boolean stopping;

  /**
   * @param timer null when driven by hand
   * @param fatal is told when this node had better stop
   */
  public Engine(
      InboxStore store,
      Registry registry,
      Payloads payloads,
      Events events,
      Settings settings,
      Executor executor,
      @Nullable ScheduledExecutorService timer,
      Consumer<Throwable> fatal) {
    this.node =
        new Node(
            store,
            events,
            settings.nodeName(),
            new HandlerKeys(
                store.nodes(), registry.handlers().stream().map(BoundHandler::ids).toList()),
            settings.beat(),
            settings.deadAfter(),
            new LastHeartbeat(settings.startLimit()),
            settings.holdUnknownKeys(),
            new CellNews());
    this.startLimit = settings.startLimit();
    this.settler =
        new Settler(
            store.deliveries(),
            events,
            settings.batchSize(),
            results -> dispatcher().post(() -> dispatcher().settled(results)),
            (rows, lasting) -> dispatcher().post(() -> dispatcher().settlesLater(rows, lasting)));
    Endings endings = new Endings(settler, events, settings.retry(), store.clock());
    this.timeouts = new Timeouts(timer, store.interruptible());
    this.runner =
        new Runner(
            payloads,
            new Interception(settings.interceptors()),
            store.transactions().orElse(null),
            settings.outbox(),
            endings,
            timeouts,
            events,
            // By hand nobody beats while a handler runs, and nobody is in a hurry.
            () -> stopping || (timer != null && !node.beating()),
            new Around(fatal, timer == null));
    long memory = Runtime.getRuntime().maxMemory();
    long content = LoadLimit.share(memory, registry.handlers().size());
    Map<Integer, HandlerLine> byFamily = new HashMap<>();
    for (BoundHandler handler : registry.handlers()) {
      Integer atMost = handler.spec().atMost();
      int slots = atMost == null ? settings.concurrency() : atMost;
      HandlerLine line =
          new HandlerLine(
              handler,
              slots,
              Math.max(BATCHES_AT_ONCE * settings.batchSize(), 2 * slots),
              new ContentBudget(content),
              rate(handler, settings, timer != null),
              new Breaker(timer == null ? null : handler.spec().pausingAfter()),
              executor,
              () -> dispatcher().quiet(),
              runner::run,
              () -> dispatcher().slotFree());
      handler.ids().forEach(id -> byFamily.put(id.family(), line));
    }
    this.lines = new HandlerLines(byFamily, events);
    this.dispatcher =
        new Dispatcher(
            store.deliveries(),
            settler,
            endings,
            events,
            new Dispatcher.Settings(
                settings.batchSize(),
                settings.maxCrashes(),
                settings.pollMin(),
                settings.pollMax(),
                LoadLimit.share(memory, 1)),
            node,
            store.clock(),
            lines,
            open);
  }

  /** By hand everything is run at once: nobody would come back for the rest. */
  private static RateLimit rate(BoundHandler handler, Settings settings, boolean running) {
    return new RateLimit(
        running ? handler.spec().perSecond() : null,
        settings.lanes() * handler.families().size(),
        handler.spec().together() > 1 ? RateLimit.SAVED_FOR_GROUPS : RateLimit.SAVED,
        System.nanoTime());
  }

  private Dispatcher dispatcher() {
    return dispatcher;
  }

  // ---- the three turns

  public void dispatchTurn() throws InterruptedException {
    dispatcher.turn(true);
  }

  public void settleTurn() throws InterruptedException {
    settler.turn(100);
    node.lookAfterUnknownKeys();
  }

  public void beatTurn() {
    node.tick();
  }

  /** How long a beat turn may be put off. */
  public Duration untilBeatTurn() {
    return node.nextTick();
  }

  // ---- life

  public void join() {
    node.join();
    node.lookAfterUnknownKeys();
  }

  public boolean beating() {
    return node.beating();
  }

  /** After a failure of the dispatcher's own. */
  public void resetDispatcher() {
    dispatcher.reset();
  }

  /** Starts nothing from now on, drops what is queued, and tells running attempts. */
  public void beginStop() {
    stopping = true;
    node.startNothing();
    dispatcher.stop();
  }

  /** Tells the other nodes, so that they take over what is free. */
  public void sayStopping() {
    node.stopping();
  }

  /** Whether an operator has paused it, or it has paused itself. */
  public boolean resting(BoundHandler handler) {
    return lines.resting(handler);
  }

  /** Whether threads that may be in the store can be interrupted. */
  public boolean interruptible() {
    return timeouts.interrupting();
  }

  public boolean attemptsRunning() {
    return !runner.running().isEmpty();
  }

  public boolean settlesWaiting() {
    return !settler.idle();
  }

  /** The grace period is over. */
  public void cut() {
    runner.cut(timeouts::interrupt);
  }

  public void sayStopped() {
    node.stopped();
  }

  // ---- driven by hand

  /** Runs everything that is due on the calling thread, until a look finds nothing more to do. */
  public void drain() throws InterruptedException {
    node.lookForPauses();
    boolean progress = true;
    boolean walking = false;
    int inVain = 0;
    while (progress || (!walking && dispatcher.canWalk())) {
      walking = !progress; // behind what is due and cannot run there may be something that can
      node.beatIfDue();
      node.lookAfterUnknownKeys();
      node.stayAlive(); // nobody else sees to it, and to look around may have taken long
      int before = attempts.get();
      dispatcher.lookNow();
      if (walking) {
        dispatcher.walkNow();
      }
      boolean settled = turnAndSettle();
      boolean kept = wasKeptFromStarting();
      boolean further = (walking && dispatcher.walksOn()) || (!kept && dispatcher.sweepsOn());
      boolean givenBack = dispatcher.hasMail(); // such as what came too late after its beat
      settled |= turnAndSettle();
      kept |= givenBack && wasKeptFromStarting();
      if (kept && Thread.interrupted()) { // nothing else here would notice
        throw new InterruptedException();
      }
      boolean moved = further || settled || attempts.get() > before || dispatcher.hasMail();
      inVain = kept && !moved ? inVain + 1 : 0;
      if (inVain == MOST_IN_VAIN) {
        throw beatsTakeTooLong();
      }
      progress = kept || moved || dispatcher.trySuspectNow();
    }
  }

  private StoreException beatsTakeTooLong() {
    return new StoreException(
        StoreException.Kind.TRANSIENT,
        ErrorCode.DATABASE_TRANSIENT,
        "The store is too slow: after each of %d heartbeats more than %s passed before an attempt could start. No attempt starts that late, because other nodes may take this one for dead. Drain again when the store is faster, or raise deadAfter."
            .formatted(MOST_IN_VAIN, startLimit),
        null);
  }

  /** A beat itself took so long that nothing might start after it; the next may be quicker. */
  private boolean wasKeptFromStarting() {
    return dispatcher.wasKeptFromStarting() && !stopping;
  }

  /**
   * What has ended is written down, also where something fails behind it: whoever drains next would
   * run it again. Answers whether there was any.
   */
  private boolean turnAndSettle() throws InterruptedException {
    try {
      dispatcher.turn(false);
    } catch (RuntimeException | Error | InterruptedException e) {
      try {
        settler.flushAll();
      } catch (RuntimeException | Error also) {
        if (also != e) { // nothing can suppress itself
          e.addSuppressed(also);
        }
      }
      throw e;
    }
    boolean settling = settlesWaiting();
    settler.flushAll();
    return settling;
  }

  /** How many attempts have begun. */
  public int attempts() {
    return attempts.get();
  }

  // ---- hand-over of local accepts

  public long takeTicket() {
    return open.takeTicket();
  }

  public void handOver(long ticket, Collection<HandOver> accepted) {
    dispatcher.offer(ticket, accepted);
  }

  public void wake() {
    dispatcher.wake();
  }

  /** Looks behind the cursors too, where an old message may have got a new delivery. */
  public void lookNow() {
    dispatcher.lookSoon();
  }

  /** The node's news, brought to the dispatcher. */
  private final class CellNews implements Node.Cells {
    @Override
    public void taken(List<CellRow> cells) {
      dispatcher.post(() -> dispatcher.cellsTaken(cells));
    }

    @Override
    public void wanted(List<Cell> cells) {
      dispatcher.post(() -> dispatcher.cellsWanted(cells));
    }

    @Override
    public void unwanted(List<Cell> cells) {
      dispatcher.post(() -> dispatcher.cellsUnwanted(cells));
    }

    @Override
    public void gone(List<Cell> cells) {
      dispatcher.post(() -> dispatcher.cellsGone(cells));
    }

    @Override
    public void paused(Set<Integer> families) {
      dispatcher.post(() -> dispatcher.paused(families));
    }

    @Override
    public void lost() {
      runner.running().forEach(Attempt::requestStop);
      dispatcher.post(dispatcher::cellsLost);
    }

    @Override
    public Set<Cell> owned() {
      return dispatcher.owned();
    }

    @Override
    public Set<Cell> leaving() {
      return dispatcher.leaving();
    }

    @Override
    public Set<Cell> busy() {
      return dispatcher.busy();
    }
  }

  /** What attempts need to know and to tell. */
  private final class Around implements Runner.Surroundings {
    private final Consumer<Throwable> fatal;
    private final boolean byHand;
    private final Consumer<Delivery> forgetUnstarted =
        row -> dispatcher().post(() -> dispatcher().forgetUnstarted(row));
    private final Consumer<Delivery> notOurs =
        row -> dispatcher().post(() -> dispatcher().notOurs(row));
    private final Consumer<Settlement> settled =
        end -> dispatcher().post(() -> dispatcher().settled(List.of(new Settled(end, false))));

    Around(Consumer<Throwable> fatal, boolean byHand) {
      this.fatal = fatal;
      this.byHand = byHand;
    }

    @Override
    public boolean mayStart(Work work) {
      if (byHand) {
        node.stayAlive(); // nobody else sees to it, and to read this may have taken long
      }
      return node.mayStart(work.owner());
    }

    @Override
    public void begun(Delivery delivery) {
      attempts.incrementAndGet();
      dispatcher.begun(delivery);
    }

    @Override
    public boolean hasBegun(Delivery delivery) {
      return dispatcher.hasBegun(delivery);
    }

    @Override
    public void notStarted(Work work) {
      Memory.tell(work.delivery(), forgetUnstarted);
    }

    @Override
    public void completedInTransaction(Settlement settlement) {
      Memory.tell(settlement, settled);
    }

    @Override
    public void notOurs(Delivery delivery) {
      Memory.tell(delivery, notOurs);
    }

    @Override
    public void askWhetherFree(Delivery delivery, Consumer<Boolean> answer) {
      dispatcher.post(() -> dispatcher.askWhetherFree(delivery, answer));
    }

    @Override
    public void fatal(Throwable error) {
      fatal.accept(error);
    }
  }
}
