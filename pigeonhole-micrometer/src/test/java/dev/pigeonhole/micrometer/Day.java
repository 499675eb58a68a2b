package dev.pigeonhole.micrometer;

import dev.pigeonhole.Channel;
import dev.pigeonhole.Guard;
import dev.pigeonhole.GuardKey;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.Message;
import dev.pigeonhole.PoisonException;
import dev.pigeonhole.outbox.InProcess;
import dev.pigeonhole.outbox.Outbox;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.observation.ObservationRegistry;
import java.util.List;

/**
 * An ordinary day: orders come in, once, twice and with other content; one is bad; a card is
 * charged under a guard; and an outbox sends orders to the inbox.
 */
final class Day {
  final InboxMetrics metrics;
  final OutboxMetrics outboxMetrics;
  final Inbox inbox;
  final Outbox outbox;
  private final Shop shop;
  private int number;

  Day(Shop shop, MeterRegistry meters, ObservationRegistry observations) {
    this.shop = shop;
    this.metrics = InboxMetrics.to(meters);
    this.outboxMetrics = OutboxMetrics.to(meters);
    Channel orders =
        Channel.named("orders")
            .on(OrderPlaced.class)
            .handle(
                "reserve-stock",
                order -> {
                  if (order.id().startsWith("bad")) {
                    throw new PoisonException("no such article");
                  }
                })
            .build();
    this.inbox =
        Inbox.on(shop.store)
            .named("shop")
            .codec(Shop.CODEC)
            .lanes(4)
            .channel(orders)
            .around(ProcessObservations.in(observations))
            .listener(metrics)
            .build();
    RelayObservations relaying = RelayObservations.in(observations);
    this.outbox =
        Outbox.on(shop.store)
            .named("shop-out")
            .codec(Shop.CODEC)
            .lanes(4)
            .route(OrderPlaced.class, InProcess.into(inbox, "orders"))
            .around(relaying)
            .onSending(relaying)
            .listener(outboxMetrics)
            .build();
    metrics.watch(inbox);
    outboxMetrics.watch(outbox.name(), outbox.admin());
  }

  /** Everything once, and so many orders beside. */
  void pass(int orders) {
    for (int i = 0; i < orders; i++) {
      order("o-" + number++);
    }
    String twice = "twice-" + number++;
    order(twice);
    order(twice);
    inbox.accept("orders", Message.of(twice, new OrderPlaced("other")));
    order("bad-" + number++);
    inbox.drain();
    order("open-" + number++);
    try (Guard guard = Guard.on(shop.store).named("shop").lanes(4).listener(metrics).build()) {
      guard.run(GuardKey.of("charge-card", "card", "c-" + number++), tx -> "charged");
    }
    String id = "p-" + number++;
    shop.commit(
        connection -> outbox.publish(connection, List.of(Message.of(id, new OrderPlaced("sent")))));
    outbox.drain();
    inbox.drain();
  }

  private void order(String id) {
    inbox.accept("orders", Message.of(id, new OrderPlaced(id)));
  }
}
