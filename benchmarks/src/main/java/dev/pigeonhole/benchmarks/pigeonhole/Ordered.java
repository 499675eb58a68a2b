package dev.pigeonhole.benchmarks.pigeonhole;

import dev.pigeonhole.Message;
import dev.pigeonhole.benchmarks.inbox.Messages;
import dev.pigeonhole.benchmarks.subject.Crew;
import dev.pigeonhole.benchmarks.subject.Run;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;

/** Messages with ordering keys. What one producer sends under a key has to be handled in order. */
final class Ordered {

  private static final int PRODUCERS = 2;

  private final int keys;
  private final AtomicIntegerArray last;
  private final AtomicInteger outOfOrder = new AtomicInteger();

  private Ordered(int keys) {
    this.keys = keys;
    this.last = new AtomicIntegerArray(keys * PRODUCERS);
  }

  static long byKeys(Run run) throws Exception {
    Ordered order = new Ordered(run.number("keys"));
    try (LoadedInbox loaded =
        LoadedInbox.handling(
            run, Messages.of(run), payload -> order.see(Messages.number(payload)))) {
      loaded.start();
      run.begin();
      Crew.run(PRODUCERS, member -> order.produce(loaded, member));
      long completed = loaded.finish();
      if (order.outOfOrder.get() > 0) {
        throw new IllegalStateException(order.outOfOrder + " were handled out of order");
      }
      return completed;
    }
  }

  private void produce(LoadedInbox loaded, int member) {
    int all = loaded.messages.count();
    for (int batch = member; batch * LoadedInbox.BATCH < all; batch += PRODUCERS) {
      int from = batch * LoadedInbox.BATCH;
      List<Message> messages = new ArrayList<>();
      for (int i = from; i < Math.min(from + LoadedInbox.BATCH, all); i++) {
        messages.add(loaded.message(i).orderedBy("key-" + i % keys));
      }
      loaded.acceptNew(messages);
    }
  }

  private void see(int number) {
    int producer = number / LoadedInbox.BATCH % PRODUCERS;
    int before = last.getAndSet(number % keys * PRODUCERS + producer, number);
    if (before > number) {
      outOfOrder.incrementAndGet();
    }
  }
}
