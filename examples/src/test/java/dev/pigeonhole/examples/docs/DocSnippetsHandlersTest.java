package dev.pigeonhole.examples.docs;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.Batch;
import dev.pigeonhole.Channel;
import dev.pigeonhole.Interceptor;
import dev.pigeonhole.Message;
import dev.pigeonhole.Received;
import dev.pigeonhole.admin.DeliveryState;
import dev.pigeonhole.examples.docs.Shop.Mailer;
import dev.pigeonhole.examples.docs.Shop.OrderPlaced;
import dev.pigeonhole.testkit.TestInbox;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;

/** Handlers that need more, as the documentation shows them. */
class DocSnippetsHandlersTest {
  private final Mailer mailer = new Mailer();
  private final Map<String, Long> timings = new ConcurrentHashMap<>();
  private final Search search = new Search();

  /** What orders looked like before they knew the customer. */
  record OrderPlacedV1(String order) {
    OrderPlaced withoutCustomer() {
      return new OrderPlaced(order, "unknown");
    }
  }

  static final class SearchException extends Exception {
    private static final long serialVersionUID = 1L;
  }

  /** An index that refuses one order. */
  static final class Search {
    final List<String> added = new CopyOnWriteArrayList<>();

    void add(OrderPlaced order) throws SearchException {
      if (order.order().equals("o-2")) {
        throw new SearchException();
      }
      added.add(order.order());
    }
  }

  @Test
  void upcast() {
    // snippet:upcast
    Channel orders =
        Channel.named("orders")
            .on(OrderPlaced.class)
            .named("order.placed.v2")
            .upcast("order.placed.v1", OrderPlacedV1.class, OrderPlacedV1::withoutCustomer)
            .handle("send-receipt", mailer::sendReceipt)
            .build();
    // end
    TestInbox inbox = TestInbox.of(orders);
    byte[] old = "{\"order\":\"o-1\"}".getBytes(UTF_8);
    inbox.receive("orders", Message.encoded("m-1", "order.placed.v1", old, "application/json"));
    inbox.receive("m-2", new OrderPlaced("o-2", "c-1"));
    inbox.drain();
    assertThat(mailer.sent).containsExactlyInAnyOrder("o-1", "o-2");
  }

  // snippet:batch
  void index(Batch<OrderPlaced> batch) {
    for (Received<OrderPlaced> each : batch) {
      try {
        search.add(each.payload());
      } catch (SearchException e) {
        batch.fail(each, e);
      }
    }
  }

  // end

  @Test
  void batch() {
    TestInbox inbox =
        TestInbox.of(
            Channel.named("orders")
                .on(OrderPlaced.class)
                .handleBatch("index", 200, this::index)
                .build());
    for (int i = 1; i <= 3; i++) {
      inbox.receive("m-" + i, new OrderPlaced("o-" + i, "c-1"));
    }
    inbox.drain();
    assertThat(search.added).containsExactlyInAnyOrder("o-1", "o-3");
    assertThat(inbox.find("m-2", "index").orElseThrow().state()).isEqualTo(DeliveryState.SCHEDULED);
  }

  @Test
  void around() {
    // snippet:around
    Interceptor timing =
        (received, next) -> {
          long began = System.nanoTime();
          try {
            next.proceed();
          } finally {
            timings.put(received.handler(), System.nanoTime() - began);
          }
        };
    // end
    TestInbox inbox =
        TestInbox.of(
                Channel.named("orders")
                    .on(OrderPlaced.class)
                    .handle("send-receipt", mailer::sendReceipt)
                    .build())
            .with(it -> it.around(timing));
    inbox.receive("m-1", new OrderPlaced("o-1", "c-1"));
    inbox.drain();
    assertThat(timings).containsOnlyKeys("send-receipt");
  }
}
