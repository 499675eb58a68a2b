package dev.pigeonhole.outbox;

import static dev.pigeonhole.outbox.Office.PATIENCE;
import static dev.pigeonhole.outbox.Office.order;
import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.Channel;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.OnConflict;
import dev.pigeonhole.Received;
import dev.pigeonhole.Unhandled;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import dev.pigeonhole.tck.TransportContract;
import dev.pigeonhole.tck.TransportTarget;
import dev.pigeonhole.testkit.MemoryStore;
import dev.pigeonhole.transport.Envelope;
import dev.pigeonhole.transport.MessageMapper;
import dev.pigeonhole.transport.SendThreads;
import dev.pigeonhole.transport.Sent;
import dev.pigeonhole.transport.Transport;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.OptionalInt;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** An inbox of the process is a transport like any other, wherever it keeps its messages. */
class InProcessTest extends TransportContract {

  @Override
  protected TransportTarget target() {
    return new InboxTarget();
  }

  @Test
  void itReachesAnInboxInAnotherStore() {
    List<String> handled = new ArrayList<>();
    Channel orders =
        Channel.named("orders")
            .on(OrderPlaced.class)
            .handleMessage(
                "ship",
                received -> handled.add(received.message() + " " + received.payload().order()))
            .build();
    Inbox elsewhere = Inbox.on(MemoryStore.create()).codec(new LineCodec()).channel(orders).build();
    try (TestDatabase database = TestDatabases.open(DatabaseKind.H2)) {
      Office office = Office.in(database);
      Outbox outbox =
          office
              .outbox()
              .named("shop")
              .route(OrderPlaced.class, InProcess.into(elsewhere, "orders"))
              .build();
      String id = office.commit(connection -> outbox.publish(connection, order(1)));
      outbox.drain();
      elsewhere.drain();

      assertThat(handled).singleElement().asString().contains("shop").contains(id).contains("o-1");
    }
  }

  @Test
  void aThreadIsUsedAgainAndEndsWithTheTransport() throws InterruptedException {
    try (InboxTarget target = new InboxTarget()) {
      Transport transport = target.transport();
      for (int i = 0; i < 5; i++) {
        transport.send(List.of(thing("m-" + i)), PATIENCE);
        Eventually.until(PATIENCE, () -> target.threads().stream().allMatch(InProcessTest::idle));
      }
      assertThat(target.threads()).hasSize(1);

      transport.close();
      Eventually.until(PATIENCE, () -> target.threads().stream().noneMatch(Thread::isAlive));
      transport.send(List.of(thing("m-6")), PATIENCE);
      transport.close();
      assertThat(target.received()).hasSize(6);
    }
  }

  private static boolean idle(Thread thread) {
    return thread.getState() == Thread.State.TIMED_WAITING;
  }

  @Test
  void anInboxThatHangsTakesNoMoreThreadsThanThereMayBe() throws InterruptedException {
    try (InboxTarget target = new InboxTarget()) {
      Transport transport = target.transport();
      target.stall();
      for (int i = 0; i < SendThreads.MOST + 5; i++) {
        assertThat(transport.send(List.of(thing("m-" + i)), Duration.ofMillis(2)))
            .allMatch(Sent.Failed.class::isInstance);
      }
      Eventually.until(PATIENCE, () -> target.threads().size() == SendThreads.MOST);
      target.resume();
      assertThat(transport.send(List.of(thing("last")), PATIENCE))
          .allMatch(Sent.Confirmed.class::isInstance);
      assertThat(target.threads()).hasSizeLessThanOrEqualTo(SendThreads.MOST + 1);
      transport.close();
    }
  }

  private static Envelope thing(String id) {
    return Envelope.of("inbox", "things").id(id).type("thing.happened").body(new byte[1]).build();
  }

  /** A channel whose mapper can be stopped. */
  private static final class InboxTarget implements TransportTarget {
    private static final int LARGEST = 2_000_000;

    private final List<Envelope> arrived = new ArrayList<>(); // guarded by this, as below
    private final Set<Thread> threads = new HashSet<>();
    private @Nullable CountDownLatch gate;
    private final Inbox inbox;

    InboxTarget() {
      Channel things =
          Channel.named("things")
              .onConflict(OnConflict.KEEP)
              .mappedBy(
                  envelope -> {
                    pass();
                    return MessageMapper.plain().orderedByKey().toMessage(envelope);
                  })
              .on(byte[].class)
              .named("thing.happened")
              .handleMessage("see", this::keep)
              .build();
      Channel nothing =
          Channel.named("nothing")
              .unhandled(Unhandled.REJECT)
              .on(byte[].class)
              .named("other.thing")
              .handle("never", each -> {})
              .build();
      inbox =
          Inbox.on(MemoryStore.create())
              .maxPayload(LARGEST)
              .channel(things)
              .channel(nothing)
              .build();
    }

    /** Those that have come by. */
    synchronized Set<Thread> threads() {
      return Set.copyOf(threads);
    }

    private void pass() {
      CountDownLatch closed;
      synchronized (this) {
        threads.add(Thread.currentThread());
        closed = gate;
      }
      try {
        if (closed != null) {
          closed.await();
        }
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }

    private synchronized void keep(Received<byte[]> received) {
      arrived.add(
          Envelope.of("inbox", "things")
              .id(received.message().id())
              .type(received.type())
              .contentType(received.contentType())
              .headers(received.headers())
              .body(received.payload())
              .build());
    }

    @Override
    public Transport transport() {
      return InProcess.into(inbox, "things");
    }

    @Override
    public Transport toNowhere() {
      return InProcess.into(inbox, "nothing");
    }

    @Override
    public List<Envelope> received() {
      inbox.drain();
      synchronized (this) {
        return List.copyOf(arrived);
      }
    }

    @Override
    public synchronized void stall() {
      gate = new CountDownLatch(1);
    }

    @Override
    public synchronized void resume() {
      if (gate != null) {
        gate.countDown();
        gate = null;
      }
    }

    @Override
    public OptionalInt tooLarge() {
      return OptionalInt.of(LARGEST + 1);
    }

    @Override
    public void close() {
      resume();
    }
  }
}
