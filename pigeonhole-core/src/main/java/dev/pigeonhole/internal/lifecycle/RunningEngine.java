package dev.pigeonhole.internal.lifecycle;

import dev.pigeonhole.RunningInbox;
import dev.pigeonhole.internal.dispatch.Engine;
import dev.pigeonhole.internal.dispatch.Events;
import dev.pigeonhole.internal.prune.Pruner;
import dev.pigeonhole.store.WakeUps;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * An engine with its threads and sources. They start in the order beat, settler, reader, sources
 * and stop the other way round: first nothing new is started, then nothing more is taken in, then
 * running attempts end, then what they did is written down, and the sign of life ends last.
 */
final class RunningEngine implements RunningInbox {
  private static final Logger LOG = LoggerFactory.getLogger(RunningEngine.class);

  /** How long a stop takes at most beyond its grace. */
  private static final Duration BEYOND_GRACE = Duration.ofMillis(1_800);

  /**
   * The parts of it that are reserved: for attempts that were cut, and for the end of the threads.
   */
  private static final long UNTIL_CUT = Duration.ofMillis(1_000).toNanos();

  private static final long LAST_WORDS = Duration.ofMillis(500).toNanos();

  /** A stop waits for it, too. */
  private static final Duration LISTENING = Duration.ofMillis(200);

  private final Events events;
  private final Engine engine;
  private final Duration stopGrace;
  private final Duration readerLimit;
  private final @Nullable ExecutorService ownWorkers;
  private final ScheduledExecutorService timer;
  private final Runnable onStopped;
  private final Loop reader;
  private final Loop settler;
  private final Loop beat;
  private final Loop backlog;
  private final @Nullable Loop pruner;
  private final @Nullable WakeUps wakeUps;
  private final @Nullable Loop wakeUp;
  private final Sources sources;
  private final AtomicBoolean stopping = new AtomicBoolean();
  private final CountDownLatch ending = new CountDownLatch(1);
  private final CountDownLatch lastBeat = new CountDownLatch(1);
  private final CountDownLatch stopped = new CountDownLatch(1);

  RunningEngine(
      InboxSettings settings,
      Events events,
      Engine engine,
      Sources sources,
      Backlog backlog,
      Runnable finishReleases,
      @Nullable Pruner pruner,
      @Nullable WakeUps wakeUps,
      @Nullable ExecutorService ownWorkers,
      ScheduledExecutorService timer,
      Runnable onStopped) {
    this.events = events;
    this.engine = engine;
    this.sources = sources;
    this.wakeUps = wakeUps;
    this.stopGrace = settings.stopGrace();
    // A turn waits for pollMax, and everything that it asks the store has limits of its own.
    this.readerLimit = settings.deadAfter().multipliedBy(5).plus(settings.pollMax());
    this.ownWorkers = ownWorkers;
    this.timer = timer;
    this.onStopped = onStopped;
    String name = settings.name();
    Duration delay = settings.restartDelay();
    Runnable nothing = () -> {};
    this.reader =
        new Loop(
            name,
            "reader",
            engine::dispatchTurn,
            engine::resetDispatcher,
            delay,
            events,
            this::die);
    this.settler = new Loop(name, "settler", engine::settleTurn, nothing, delay, events, this::die);
    this.beat = new Loop(name, "beat", this::beatAndWait, nothing, delay, events, this::die);
    Duration interval = settings.beat();
    Runnable look =
        () -> {
          backlog.look();
          finishReleases.run();
        };
    this.backlog =
        new Loop(
            name, "backlog", () -> workAndWait(look, interval), nothing, delay, events, this::die);
    // On its own: a prune listener may take as long as it likes.
    this.pruner =
        pruner == null
            ? null
            : new Loop(
                name,
                "pruner",
                () -> workAndWait(pruner::turn, interval),
                nothing,
                delay,
                events,
                this::die);
    this.wakeUp =
        wakeUps == null
            ? null
            : new Loop(name, "wake-up", () -> listen(wakeUps), nothing, delay, events, this::die);
  }

  private void listen(WakeUps words) {
    if (words.await(LISTENING)) {
      engine.wake();
    }
  }

  /** Starts the loops; if it fails, none of them is left running. */
  void start() {
    try {
      engine.join();
      beat.start();
      settler.start();
      reader.start();
    } catch (RuntimeException | Error e) {
      List.of(reader, settler, beat).forEach(loop -> loop.end(false));
      throw e;
    }
    try {
      sources.start(stopGrace);
      backlog.start();
      if (pruner != null) {
        pruner.start();
      }
      if (wakeUp != null) {
        wakeUp.start();
      }
    } catch (RuntimeException | Error e) {
      if (stopping.compareAndSet(false, true)) { // else a fatal error is stopping it already
        stop(); // handlers may be running by now
      }
      throw e;
    }
  }

  private void beatAndWait() throws InterruptedException {
    engine.beatTurn();
    lastBeat.await(engine.untilBeatTurn().toNanos(), TimeUnit.NANOSECONDS);
  }

  /** A turn of a loop that has nothing to do once the stop has begun. */
  private void workAndWait(Runnable work, Duration interval) throws InterruptedException {
    if (ending.getCount() == 0) {
      TimeUnit.MILLISECONDS.sleep(20); // there is nothing to look after any more
      return;
    }
    work.run();
    ending.await(interval.toMillis(), TimeUnit.MILLISECONDS);
  }

  @Override
  public void awaitStopped() throws InterruptedException {
    stopped.await();
  }

  @Override
  public boolean healthy() {
    return !stopping.get()
        && engine.beating()
        && reader.advancesWithin(readerLimit)
        && List.of(reader, settler, beat, backlog).stream().allMatch(Loop::alive)
        && (pruner == null || pruner.alive());
  }

  @Override
  public Map<String, String> sourceTroubles() {
    return sources.troubles();
  }

  /** Out of memory: leave while it can still be done properly, from a thread of its own. */
  void die(Throwable cause) {
    LOG.error("Inbox {} stops because of a fatal error", events.inbox(), cause);
    Thread thread = new Thread(this::close, "pigeonhole-" + events.inbox() + "-stop");
    thread.setDaemon(true);
    thread.start();
  }

  @Override
  public void close() {
    if (stopping.compareAndSet(false, true)) {
      stop();
    } else {
      awaitQuietly();
    }
  }

  /** Returns soon after the grace, whatever the store does: every wait here has an end. */
  private void stop() {
    LOG.info("Inbox {} is stopping", events.inbox());
    long graceEnd = System.nanoTime() + stopGrace.toNanos();
    long end = graceEnd + BEYOND_GRACE.toNanos();
    Farewell farewell = new Farewell(events.inbox());
    try {
      ending.countDown();
      engine.beginStop(); // before a slow source uses up the grace of what would begin meanwhile
      farewell.say(engine::sayStopping);
      sources.stop(stopGrace);
      awaitGrace(graceEnd);
      if (engine.attemptsRunning()) {
        engine.cut();
        awaitWhile(engine::attemptsRunning, Math.min(graceEnd, System.nanoTime()) + UNTIL_CUT);
      }
      awaitWhile(engine::settlesWaiting, end - LAST_WORDS);
    } finally {
      endLoops(end - LAST_WORDS / 2, farewell);
      farewell.awaitSaid(end);
      timer.shutdownNow();
      if (ownWorkers != null) {
        ownWorkers.shutdown();
      }
      onStopped.run();
      stopped.countDown();
      LOG.info("Inbox {} has stopped", events.inbox());
    }
  }

  private void endLoops(long deadline, Farewell farewell) {
    List<Loop> all =
        Stream.of(backlog, pruner, wakeUp, reader, settler, beat).filter(Objects::nonNull).toList();
    lastBeat.countDown();
    for (Loop loop : all) {
      // Listeners of users run on these two, and may not come back by themselves.
      loop.end((loop == backlog || loop == pruner) && engine.interruptible());
    }
    engine.wake(); // the reader waits for news
    List<Loop> left = all.stream().filter(loop -> !loop.awaitEnd(deadline)).toList();
    if (!left.isEmpty()) {
      LOG.warn("Threads still running after close: inbox={} threads={}", events.inbox(), left);
    }
    // A beat after the last report would take the node's connection again.
    farewell.say(
        () -> {
          List.of(reader, settler, beat).forEach(loop -> loop.awaitEnd(forEver()));
          engine.sayStopped();
        });
    farewell.say(
        () -> {
          if (wakeUp != null && wakeUps != null && wakeUp.awaitEnd(forEver())) {
            wakeUps.rest();
          }
        });
  }

  private static long forEver() {
    return System.nanoTime() + Long.MAX_VALUE / 2;
  }

  /** An interrupt ends it: then running attempts are cut at once. */
  private void awaitGrace(long deadline) {
    try {
      awaitIdle(engine::attemptsRunning, deadline - System.nanoTime());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private static void awaitWhile(BooleanSupplier busy, long deadline) {
    Uninterrupted.await(deadline, left -> awaitIdle(busy, left));
  }

  private static boolean awaitIdle(BooleanSupplier busy, long nanos) throws InterruptedException {
    long began = System.nanoTime();
    while (busy.getAsBoolean()) {
      if (System.nanoTime() - began >= nanos) {
        return false;
      }
      TimeUnit.MILLISECONDS.sleep(2);
    }
    return true;
  }

  private void awaitQuietly() {
    try {
      stopped.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
