package dev.pigeonhole.support;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * Customers who send orders to a service, each of them again and again under the same id until it
 * was taken: whatever becomes of the service, everybody gets an answer in the end.
 */
public final class OrderLoad implements AutoCloseable {

  private static final Duration PATIENCE = Duration.ofMinutes(15);
  private static final int TAKEN = 202;
  private static final int BUSY = 409;

  private final HttpService service;
  private final int orders;
  private final Semaphore allowed = new Semaphore(0);
  private final AtomicInteger next = new AtomicInteger();
  private final AtomicInteger taken = new AtomicInteger();
  private final AtomicInteger again = new AtomicInteger();
  private final List<Thread> customers = new ArrayList<>();
  private volatile @Nullable Throwable failure;
  private volatile @Nullable Deed deed;

  /** What happens at so many orders. */
  private record Deed(int at, Runnable action, CountDownLatch done) {}

  /** Starts the customers, who wait to be {@link #allow allowed}. */
  public OrderLoad(HttpService service, int customers, int orders) {
    this.service = service;
    this.orders = orders;
    for (int i = 0; i < customers; i++) {
      Thread customer = new Thread(this::sendOrders, "customer-" + i);
      this.customers.add(customer);
      customer.setDaemon(true); // one who still waits for an answer ends with the JVM
      customer.start();
    }
  }

  /** Lets so many more orders be sent. */
  public void allow(int more) {
    allowed.release(more);
  }

  /**
   * Does this as soon as so many orders are taken, on the thread of the last of these customers,
   * while the others are still waiting for their answers. No further order is sent before it is
   * done.
   */
  public void whenTaken(int count, Runnable action) {
    deed = new Deed(count, action, new CountDownLatch(1));
  }

  /** How many orders the service has said that it has taken. */
  public int taken() {
    return taken.get();
  }

  /** How often an order had to be sent again. */
  public int again() {
    return again.get();
  }

  public void awaitTaken(int wanted) {
    Eventually.until(
        wanted + " orders to be taken", PATIENCE, () -> failure != null || taken.get() >= wanted);
    if (failure != null) {
      throw new AssertionError("An order was not taken", failure);
    }
  }

  private void sendOrders() {
    try {
      for (int i = next.getAndIncrement(); i < orders; i = next.getAndIncrement()) {
        allowed.acquire();
        awaitDeed();
        int number = i;
        Eventually.until("an answer to order " + i, PATIENCE, () -> isTaken(number));
        doAt(taken.incrementAndGet());
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt(); // the test is over
    } catch (RuntimeException | AssertionError e) {
      failure = e;
    }
  }

  private void awaitDeed() throws InterruptedException {
    Deed next = deed;
    if (next != null && taken.get() >= next.at()) {
      next.done().await();
    }
  }

  private void doAt(int count) {
    Deed next = deed;
    if (next == null || count != next.at()) {
      return;
    }
    try {
      next.action().run();
    } finally {
      next.done().countDown();
    }
  }

  private boolean isTaken(int number) throws InterruptedException {
    try {
      HttpService.Answer answer =
          service.post(
              "/orders",
              "{\"id\":\"o-%d\",\"customer\":\"c-%d\",\"cents\":%d}"
                  .formatted(number, number % 100, 100 + number));
      if (answer.status() == TAKEN) {
        return true;
      }
      if (answer.status() != BUSY && answer.status() < 500) {
        failure = new AssertionError("Order %d: %s".formatted(number, answer));
      }
    } catch (IOException e) {
      // Nobody listens, or whoever did has died: perhaps before the commit, perhaps after it.
    }
    again.incrementAndGet();
    return false;
  }

  @Override
  public void close() {
    customers.forEach(Thread::interrupt);
  }
}
