package dev.pigeonhole.testkit;

import dev.pigeonhole.transport.Acceptor;
import dev.pigeonhole.transport.MessageSource;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** A consumer of a {@link MemoryQueue}, with a thread of its own while it is started. */
final class MemorySource implements MessageSource {
  private static final Duration LOOK = Duration.ofMillis(10);

  private final String name;
  private final MemoryQueue queue;
  private volatile @Nullable Worker worker; // set by one thread at a time

  MemorySource(String name, MemoryQueue queue) {
    this.name = name;
    this.queue = queue;
  }

  @Override
  public String name() {
    return "memory:" + name;
  }

  @Override
  public void start(Acceptor acceptor) {
    Worker fresh = new Worker(acceptor);
    worker = fresh;
    fresh.start();
  }

  @Override
  public void pause(String reason) {
    Worker present = worker;
    if (present != null) {
      present.paused = true;
    }
  }

  @Override
  public void resume() {
    Worker present = worker;
    if (present != null) {
      present.paused = false;
    }
  }

  @Override
  public void stop(Duration patience) {
    Worker last = worker;
    if (last == null) {
      return;
    }
    worker = null;
    last.end(patience);
  }

  private final class Worker extends Thread {
    private final Acceptor acceptor;
    private volatile boolean stopping;
    private volatile boolean paused;
    private volatile MemoryQueue.@Nullable Taken under;

    Worker(Acceptor acceptor) {
      super("pigeonhole-" + MemorySource.this.name());
      this.acceptor = acceptor;
      setDaemon(true);
    }

    @Override
    public void run() {
      while (!stopping) {
        try {
          turn();
        } catch (InterruptedException e) {
          // A handler that ran on this thread was told to stop, and not this thread.
        }
      }
    }

    private void turn() throws InterruptedException {
      MemoryQueue.Taken taken = queue.take(LOOK, () -> !paused && !stopping);
      if (taken.envelopes().isEmpty()) {
        if (paused) {
          TimeUnit.NANOSECONDS.sleep(LOOK.toNanos());
        }
        return;
      }
      under = taken;
      boolean again = true;
      try {
        again = queue.settle(taken, acceptor.accept(taken.envelopes()));
      } catch (RuntimeException e) { // the store cannot say
        queue.failed(taken, e);
      } finally {
        queue.giveBack(taken); // does nothing to what is settled
        under = null;
      }
      if (again) {
        TimeUnit.NANOSECONDS.sleep(LOOK.toNanos());
      }
    }

    /** What it is still at after this time goes to the next consumer. */
    void end(Duration patience) {
      stopping = true;
      try {
        join(Math.max(1, patience.toMillis()));
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
      MemoryQueue.Taken left = under;
      if (left != null) {
        queue.giveBack(left);
      }
    }
  }
}
