package dev.pigeonhole.examples.docs;

import static java.time.Duration.ofDays;
import static java.time.Duration.ofSeconds;
import static java.util.concurrent.TimeUnit.MILLISECONDS;
import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.Acceptance;
import dev.pigeonhole.Channel;
import dev.pigeonhole.HandlerOption;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.Message;
import dev.pigeonhole.RunningInbox;
import dev.pigeonhole.examples.docs.Shop.Mailer;
import dev.pigeonhole.examples.docs.Shop.OrderPlaced;
import dev.pigeonhole.jdbc.JdbcStore;
import dev.pigeonhole.jdbc.Schema;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import dev.pigeonhole.transport.Acceptor;
import dev.pigeonhole.transport.MessageSource;
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
    private final Deque<Message> waiting = new ArrayDeque<>();
    private final Deque<Message> out = new ArrayDeque<>();
    private final List<String> deadLetters = new ArrayList<>();

    synchronized void send(Message message) {
      waiting.add(message);
    }

    synchronized List<Message> receive(int most) {
      while (!waiting.isEmpty() && out.size() < most) {
        out.add(waiting.remove());
      }
      return List.copyOf(out);
    }

    synchronized void acknowledge(Message message) {
      out.remove(message);
    }

    synchronized void deadLetter(Message message, String reason) {
      out.remove(message);
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
        List<Message> batch = paused ? List.of() : queue.receive(100);
        List<Acceptance> answers = acceptor.accept(batch);
        for (int i = 0; i < batch.size(); i++) {
          settle(batch.get(i), answers.get(i));
        }
      } catch (RuntimeException e) {
        // The store cannot say, or the queue is down: nothing is lost, it is tried again.
      } finally {
        queue.giveBack(); // whatever was neither acknowledged nor put aside comes again
      }
    }

    private void settle(Message message, Acceptance answer) {
      if (answer instanceof Acceptance.Rejected rejected) {
        queue.deadLetter(message, rejected.reason()); // it would be rejected again
      } else if (!(answer instanceof Acceptance.Unfinished)) {
        queue.acknowledge(message); // the inbox has it
      }
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

  @Test
  void whatIsUnfinishedComesAgainAndWhatIsRejectedDoesNot() {
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
      queue.send(Message.of("m-1", new OrderPlaced("o-1", "c-1")));
      queue.send(Message.of(null, new OrderPlaced("o-2", "c-1")));

      RunningInbox running = inbox.start();
      try {
        Eventually.until(ofSeconds(30), queue::isEmpty);
      } finally {
        running.close();
      }
    }
    assertThat(mailer.sent).containsExactly("o-1");
    assertThat(queue.deadLetters).singleElement().asString().startsWith("PH-ID-01");
  }
}
