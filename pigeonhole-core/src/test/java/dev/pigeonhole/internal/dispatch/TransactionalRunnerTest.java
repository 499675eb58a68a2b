package dev.pigeonhole.internal.dispatch;

import static dev.pigeonhole.HandlerOption.sharedCommits;
import static dev.pigeonhole.HandlerOption.within;
import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.Specs;
import dev.pigeonhole.TransactionalHandler;
import dev.pigeonhole.internal.registry.Backoff;
import dev.pigeonhole.internal.registry.BoundHandler;
import dev.pigeonhole.internal.registry.Payloads;
import dev.pigeonhole.store.Deliveries;
import dev.pigeonhole.store.Delivery;
import dev.pigeonhole.store.Settlement;
import dev.pigeonhole.store.Transactions;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Handlers that do not return, with a store that is only pretended. */
class TransactionalRunnerTest {
  private final ExecutorService workers = Executors.newCachedThreadPool();
  private final ScheduledThreadPoolExecutor timer = new ScheduledThreadPoolExecutor(1);
  private final CountDownLatch end = new CountDownLatch(1);
  private final BlockingQueue<String> news = new LinkedBlockingQueue<>();
  private final Settler settler =
      new Settler(
          nothing(Deliveries.class),
          new Events("inbox", List.of()),
          100,
          results -> {},
          (rows, lasting) -> {});

  @AfterEach
  void stop() {
    end.countDown();
    workers.shutdownNow();
    timer.shutdownNow();
  }

  private static <T> T nothing(Class<T> type) {
    return type.cast(
        Proxy.newProxyInstance(
            type.getClassLoader(),
            new Class<?>[] {type},
            (self, method, args) -> method.getReturnType() == Set.class ? Set.of() : null));
  }

  private final class Around implements Runner.Surroundings {
    @Override
    public boolean mayStart(Work work) {
      return true;
    }

    @Override
    public void begun(Delivery delivery) {}

    @Override
    public boolean hasBegun(Delivery delivery) {
      return false;
    }

    @Override
    public void notStarted(Work work) {
      news.add("not started " + work.delivery().seq());
    }

    @Override
    public void completedInTransaction(Settlement settlement) {
      news.add("completed " + settlement.delivery().seq());
    }

    @Override
    public void notOurs(Delivery delivery) {
      news.add("not ours " + delivery.seq());
    }

    @Override
    public void askWhetherFree(Delivery delivery, Consumer<Boolean> answer) {
      answer.accept(true);
    }

    @Override
    public void fatal(Throwable error) {}
  }

  private HandlerLine line(TransactionalHandler<Object> handler, int slots, int shared) {
    return line(handler, slots, shared, new Breaker(null));
  }

  private HandlerLine line(
      TransactionalHandler<Object> handler, int slots, int shared, Breaker breaker) {
    BoundHandler bound =
        Handlers.bound(
            Specs.transactional(
                "h", handler, within(Duration.ofSeconds(2)), sharedCommits(shared)));
    Transactions store =
        (deliveries, work) -> {
          for (Delivery each : deliveries) {
            try {
              work.run(each, nothing(Connection.class));
            } catch (Exception e) {
              throw new Transactions.WorkFailedException(each, e);
            }
          }
          return Set.copyOf(deliveries);
        };
    Events events = new Events("inbox", List.of());
    Runner runner =
        new Runner(
            Payloads.using(null),
            new Interception(List.of()),
            store,
            null,
            new Endings(settler, events, Backoff.DEFAULTS, InstantSource.system()),
            new Timeouts(timer, true),
            events,
            () -> false,
            new Around());
    return new HandlerLine(
        bound,
        slots,
        100,
        new ContentBudget(1 << 20),
        new RateLimit(null, 1, RateLimit.SAVED, 0),
        breaker,
        workers,
        () -> false,
        runner::run,
        () -> {});
  }

  private void hang() {
    while (end.getCount() > 0) {
      try {
        end.await();
      } catch (InterruptedException e) {
        // ignores what it is told
      }
    }
  }

  @Test
  void whatStandsBehindAHandlerThatHangsIsGivenBack() throws Exception {
    HandlerLine line =
        line(
            (payload, tx) -> {
              if (payload.equals("fails")) {
                throw new IllegalStateException("so the group is run one by one");
              }
              if (payload.equals("hangs")) {
                hang();
              }
            },
            1,
            10);
    line.enqueue(Handlers.work(1, "fails"));
    line.enqueue(Handlers.work(2, "hangs"));
    line.enqueue(Handlers.work(3, "waits"));
    line.enqueue(Handlers.work(4, "waits"));
    line.wakeWorkers();

    assertThat(news.poll(300, TimeUnit.SECONDS)).isEqualTo("not started 3");
    assertThat(news.poll(300, TimeUnit.SECONDS)).isEqualTo("not started 4");
  }

  @Test
  void whatHasNotBegunIsGivenBackWhenTheHandlerIsPaused() throws Exception {
    BlockingQueue<Object> began = new LinkedBlockingQueue<>();
    HandlerLine line =
        line(
            (payload, tx) -> {
              began.add(payload);
              throw new IllegalStateException("down");
            },
            1,
            10,
            new Breaker(1));
    line.enqueue(Handlers.work(1, "first"));
    line.enqueue(Handlers.work(2, "second"));
    line.enqueue(Handlers.work(3, "third"));
    line.wakeWorkers();

    assertThat(news.poll(300, TimeUnit.SECONDS)).isEqualTo("not started 2");
    assertThat(news.poll(300, TimeUnit.SECONDS)).isEqualTo("not started 3");
    assertThat(began).as("in the group, then alone").containsExactly("first", "first");
  }

  @Test
  void aStuckTransactionGetsNoSpareSlot() throws Exception {
    BlockingQueue<Object> began = new LinkedBlockingQueue<>();
    HandlerLine line =
        line(
            (payload, tx) -> {
              began.add(payload);
              hang();
            },
            1,
            1);
    line.enqueue(Handlers.work(1, "first"));
    line.enqueue(Handlers.work(2, "second"));
    line.wakeWorkers();
    assertThat(began.poll(300, TimeUnit.SECONDS)).isEqualTo("first");
    while (!settlerHasNews()) {
      Thread.onSpinWait(); // until its time is up and its failure is known
    }
    line.wakeWorkers();
    assertThat(line.resting()).as("stuck ones apart").isTrue();
    assertThat(began).isEmpty();

    end.countDown();
    assertThat(began.poll(300, TimeUnit.SECONDS)).isEqualTo("second");
  }

  private boolean settlerHasNews() {
    return !settler.idle();
  }
}
