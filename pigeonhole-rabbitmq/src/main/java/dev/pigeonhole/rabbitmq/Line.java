package dev.pigeonhole.rabbitmq;

import com.rabbitmq.client.Delivery;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Deliveries between the thread that the client delivers on and the one that hands them in. It has
 * no limit of its own: the prefetch is one.
 */
final class Line {
  private final BlockingQueue<Delivery> waiting = new LinkedBlockingQueue<>();

  void add(Delivery delivery) {
    waiting.add(delivery);
  }

  int size() {
    return waiting.size();
  }

  /**
   * The next ones, up to this many. Waits for the first as long as it is told, and after it a
   * moment for more: a batch of one costs as much as a batch of fifty.
   */
  List<Delivery> take(int most, Duration patience, Duration gather) throws InterruptedException {
    List<Delivery> taken = new ArrayList<>();
    if (most == 0) {
      return taken;
    }
    @Nullable Delivery first = waiting.poll(patience.toNanos(), TimeUnit.NANOSECONDS);
    if (first == null) {
      return taken;
    }
    taken.add(first);
    long end = System.nanoTime() + gather.toNanos();
    while (taken.size() < most) {
      waiting.drainTo(taken, most - taken.size());
      long left = end - System.nanoTime();
      if (taken.size() == most || left <= 0) {
        break;
      }
      @Nullable Delivery more = waiting.poll(left, TimeUnit.NANOSECONDS);
      if (more == null) {
        break;
      }
      taken.add(more);
    }
    return taken;
  }
}
