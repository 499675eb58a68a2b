package dev.pigeonhole.proofs;

import dev.pigeonhole.support.Ledger;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Sends numbered messages at a steady pace, each again until the broker has confirmed it, and only
 * then writes it down. A tenth is sent twice: half of that at once, so that the copies meet, and
 * half at the end.
 */
final class SourceLoad extends Thread {
  private static final long PAUSE_MILLIS = 100;

  private final SourceBroker broker;
  private final Ledger ledger;
  private final long paceMillis;
  private final AtomicInteger confirmed = new AtomicInteger();
  private final AtomicInteger copies = new AtomicInteger();
  private final AtomicInteger unconfirmed = new AtomicInteger();
  private volatile int least = Integer.MAX_VALUE;
  private volatile Throwable failure;

  SourceLoad(SourceBroker broker, Ledger ledger, String name, long paceMillis) {
    super(name);
    this.broker = broker;
    this.ledger = ledger;
    this.paceMillis = paceMillis;
  }

  @Override
  public void run() {
    try {
      List<String> again = new ArrayList<>();
      for (int number = 0; number < least; number++) {
        String id = getName().replace(' ', '-') + "-" + number;
        confirm(id);
        ledger.append("CONFIRMED " + id);
        confirmed.incrementAndGet();
        if (number % 20 == 0) {
          copy(id);
        } else if (number % 20 == 10) {
          again.add(id);
        }
        TimeUnit.MILLISECONDS.sleep(paceMillis);
      }
      for (String id : again) {
        copy(id);
      }
    } catch (Throwable e) {
      failure = e;
    }
  }

  private void copy(String id) throws InterruptedException {
    confirm(id);
    copies.incrementAndGet();
  }

  private void confirm(String id) throws InterruptedException {
    while (true) {
      try {
        broker.send(id);
        return;
      } catch (InterruptedException e) {
        throw e;
      } catch (Exception e) {
        unconfirmed.incrementAndGet(); // it may be there all the same, and comes twice then
        TimeUnit.MILLISECONDS.sleep(PAUSE_MILLIS);
      }
    }
  }

  int confirmed() {
    return confirmed.get();
  }

  int copies() {
    return copies.get();
  }

  int unconfirmed() {
    return unconfirmed.get();
  }

  /** Returns when so many were confirmed at least. */
  void finish(int messages) throws InterruptedException {
    least = messages;
    join();
    if (failure != null) {
      throw new AssertionError("the load " + getName() + " has ended early", failure);
    }
  }
}
