package dev.pigeonhole.examples.docs;

import static java.time.Duration.ofDays;
import static java.time.Duration.ofMinutes;
import static java.util.concurrent.TimeUnit.MILLISECONDS;
import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.Channel;
import dev.pigeonhole.HandlerOption;
import dev.pigeonhole.Headers;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.RunningInbox;
import dev.pigeonhole.examples.docs.Shop.Mailer;
import dev.pigeonhole.examples.docs.Shop.OrderPlaced;
import dev.pigeonhole.jdbc.JdbcStore;
import dev.pigeonhole.jdbc.Schema;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import dev.pigeonhole.testkit.MemoryQueue;
import dev.pigeonhole.testkit.MemoryStore;
import dev.pigeonhole.transport.Acceptor;
import dev.pigeonhole.transport.Disposition;
import dev.pigeonhole.transport.Envelope;
import dev.pigeonhole.transport.MessageMapper;
import dev.pigeonhole.transport.MessageSource;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** A source of messages, as the documentation shows it. */
class DocSnippetsSourceTest {

  /** A broker that keeps what was not acknowledged. */
  private static final class Queue {
    private final Deque<Envelope> waiting = new ArrayDeque<>();
    private final Deque<Envelope> out = new ArrayDeque<>();
    private final List<String> deadLetters = new ArrayList<>();

    synchronized void send(Envelope envelope) {
      waiting.add(envelope);
    }

    synchronized List<Envelope> receive(int most) {
      while (!waiting.isEmpty() && out.size() < most) {
        out.add(waiting.remove());
      }
      return List.copyOf(out);
    }

    synchronized void acknowledge(Envelope envelope) {
      out.remove(envelope);
    }

    synchronized void deadLetter(Envelope envelope, String reason) {
      out.remove(envelope);
      deadLetters.add(reason);
    }

    synchronized void giveBack() {
      waiting.addAll(out);
      out.clear();
    }

    synchronized boolean isEmpty() {
      return waiting.isEmpty() && out.isEmpty();
    }
  }

  // snippet:message-source
  static final class QueueSource implements MessageSource {
    private final Queue queue;
    private @Nullable ScheduledExecutorService timer;
    private volatile boolean paused;

    QueueSource(Queue queue) {
      this.queue = queue;
    }

    @Override
    public String name() {
      return "queue:orders";
    }

    @Override
    public Optional<Duration> repeatHorizon() {
      return Optional.of(ofDays(4)); // for so long the queue keeps a message
    }

    @Override
    public void start(Acceptor acceptor) {
      paused = false;
      timer = Executors.newSingleThreadScheduledExecutor();
      timer.scheduleWithFixedDelay(() -> turn(acceptor), 0, 100, MILLISECONDS);
    }

    private void turn(Acceptor acceptor) {
      try {
        List<Envelope> batch = paused ? List.of() : queue.receive(100);
        List<Disposition> answers = acceptor.accept(batch);
        for (int i = 0; i < batch.size(); i++) {
          settle(batch.get(i), answers.get(i));
        }
      } catch (RuntimeException e) {
        // The store cannot say, or the queue is down: nothing is lost, it is tried again.
      } finally {
        queue.giveBack(); // whatever was neither acknowledged nor put aside comes again
      }
    }

    private void settle(Envelope envelope, Disposition answer) {
      if (answer instanceof Disposition.Refused refused) {
        queue.deadLetter(envelope, refused.reason()); // it would be refused again
      } else if (answer instanceof Disposition.Done) {
        queue.acknowledge(envelope); // the inbox has it
      } // and what is for Later goes back
    }

    @Override
    public void pause(String reason) {
      paused = true;
    }

    @Override
    public void resume() {
      paused = false;
    }

    @Override
    public void stop(Duration patience) {
      if (timer == null) {
        return;
      }
      timer.shutdown(); // a turn that has begun ends
      try {
        timer.awaitTermination(patience.toMillis(), MILLISECONDS);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }
  }

  // end

  private static Envelope order(@Nullable String id, String order) {
    String json = "{\"order\":\"%s\",\"customer\":\"c-1\"}".formatted(order);
    return Envelope.of("queue", "orders")
        .id(id)
        .type("OrderPlaced")
        .contentType("application/json")
        .body(json.getBytes(StandardCharsets.UTF_8))
        .build();
  }

  @Test
  void whatIsUnfinishedComesAgainAndWhatIsRefusedDoesNot() {
    Mailer mailer = new Mailer();
    mailer.failTimes(1);
    Queue queue = new Queue();
    Channel orders =
        Channel.named("orders")
            .on(OrderPlaced.class)
            .handle("send-receipt", mailer::sendReceipt, HandlerOption.inline())
            .build();
    try (TestDatabase database = TestDatabases.open(DatabaseKind.H2)) {
      JdbcStore store = JdbcStore.of(database.pool(6));
      Schema.migrate(database.dataSource());
      // snippet:feed-a-channel
      Inbox inbox = Inbox.on(store).channel(orders, new QueueSource(queue)).build();
      // end
      queue.send(order("m-1", "o-1"));
      queue.send(order(null, "o-2"));

      RunningInbox running = inbox.start();
      try {
        Eventually.until(ofMinutes(3), queue::isEmpty);
      } finally {
        running.close();
      }
    }
    assertThat(mailer.sent).containsExactly("o-1");
    assertThat(queue.deadLetters).singleElement().asString().startsWith("PH-ID-01");
  }

  @Test
  void whatAProducerPutElsewhereIsFetchedFromThere() {
    Mailer mailer = new Mailer();
    // snippet:mapped-by
    Channel orders =
        Channel.named("orders")
            .mappedBy(MessageMapper.plain().type("order.placed").idFrom("x-event"))
            .on(OrderPlaced.class)
            .named("order.placed")
            .handle("send-receipt", mailer::sendReceipt)
            .build();
    // end
    try (TestDatabase database = TestDatabases.open(DatabaseKind.H2)) {
      Schema.migrate(database.dataSource());
      Inbox inbox = Inbox.on(JdbcStore.of(database.pool(6))).channel(orders).build();
      Headers headers = Headers.none().with("x-event", "e-1");
      Envelope envelope = order(null, "o-1").toBuilder().type(null).headers(headers).build();

      assertThat(inbox.acceptor("orders").accept(List.of(envelope)))
          .containsExactly(new Disposition.Done());
      inbox.drain();

      assertThat(mailer.sent).containsExactly("o-1");
      assertThat(inbox.find("orders", "e-1", "send-receipt")).isPresent();
    }
  }

  @Test
  void aQueueWithoutABrokerFeedsAChannel() {
    Mailer mailer = new Mailer();
    Channel orders =
        Channel.named("orders")
            .on(OrderPlaced.class)
            .handle("send-receipt", mailer::sendReceipt)
            .build();
    // snippet:memory-queue
    MemoryQueue queue = MemoryQueue.named("orders");
    Inbox inbox = Inbox.on(MemoryStore.create()).channel(orders, queue.source()).build();
    // end
    RunningInbox running = inbox.start();
    try {
      queue.send(order("m-1", "o-1"));
      queue.send(order(null, "o-2"));
      Eventually.until(ofMinutes(3), () -> queue.size() == 0 && !mailer.sent.isEmpty());
    } finally {
      running.close();
    }
    assertThat(mailer.sent).containsExactly("o-1");
    assertThat(queue.aside())
        .singleElement()
        .satisfies(it -> assertThat(it.reason()).startsWith("PH-ID-01"));
  }
}
