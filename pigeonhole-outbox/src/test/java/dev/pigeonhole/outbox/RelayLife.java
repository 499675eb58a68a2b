package dev.pigeonhole.outbox;

import dev.pigeonhole.Channel;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.RunningInbox;
import dev.pigeonhole.jdbc.JdbcStore;
import dev.pigeonhole.store.CrashPoints;
import dev.pigeonhole.support.ParentWatch;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.testkit.CrashPlan;
import dev.pigeonhole.testkit.Latch;
import dev.pigeonhole.transport.Envelope;
import dev.pigeonhole.transport.MessageMapper;
import dev.pigeonhole.transport.Sent;
import dev.pigeonhole.transport.Transport;
import java.sql.Connection;
import java.time.Duration;
import java.util.List;

/** A process that relays until it stands at the given point, and waits there to be killed. */
public final class RelayLife {
  static final String BEFORE_PUBLISH = "test.before-publish";
  static final String BEFORE_CONFIRM = "test.before-confirm";
  static final String BEFORE_RECEIPT = "run.after-handler";
  static final String BEFORE_RECEIPT_COMMITS = "settle.before-commit";

  private RelayLife() {}

  /** URL, user and password of the database; the point; which visit of it. */
  @SuppressWarnings("SystemOut")
  public static void main(String[] args) throws InterruptedException {
    ParentWatch.install();
    TestDatabase database = TestDatabase.attach(args[0], args[1], args[2]);
    JdbcStore store = JdbcStore.of(database.pool(12)).beatsOn(database.dataSource());
    Latch latch = new Latch();
    CrashPlan.at(args[3]).onHit(Integer.parseInt(args[4])).blocking(latch);
    try (RunningInbox running = relay(store, receiver(store, (order, connection) -> {})).start()) {
      latch.awaitReached();
      System.out.println("standing at " + args[3] + ", healthy " + running.healthy());
      Thread.sleep(Duration.ofMinutes(10).toMillis());
    }
  }

  /**
   * The other side: an inbox in tables of its own. In the process that is killed it has no effect.
   */
  static Inbox receiver(JdbcStore store, Effect effect) {
    Channel orders =
        Channel.named("orders")
            .mappedBy(MessageMapper.plain().orderedByKey())
            .on(OrderPlaced.class)
            .handleInTransaction("ship", (order, tx) -> effect.on(order, tx.connection()))
            .build();
    return Inbox.on(store).lanes(4).codec(new LineCodec()).channel(orders).build();
  }

  static Outbox relay(JdbcStore store, Inbox receiver) {
    return Outbox.on(store)
        .codec(new LineCodec())
        .lanes(4)
        .route(
            Route.of(OrderPlaced.class).orderedBy(OrderPlaced::customer),
            new Halting(InProcess.into(receiver, "orders")))
        .maxBatch(5)
        .beats(Duration.ofMillis(200), Duration.ofSeconds(2))
        .polling(Duration.ofMillis(20), Duration.ofMillis(100))
        .build();
  }

  interface Effect {
    void on(OrderPlaced order, Connection connection) throws Exception;
  }

  /** Passes two places on its way that the library itself cannot know. */
  private record Halting(Transport transport) implements Transport {
    @Override
    public String kind() {
      return transport.kind();
    }

    @Override
    public String destination() {
      return transport.destination();
    }

    @Override
    public List<Sent> send(List<Envelope> envelopes, Duration timeout) throws InterruptedException {
      CrashPoints.reach(BEFORE_PUBLISH);
      List<Sent> outcomes = transport.send(envelopes, timeout);
      CrashPoints.reach(BEFORE_CONFIRM);
      return outcomes;
    }
  }
}
