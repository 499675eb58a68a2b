package dev.pigeonhole.proofs;

import static dev.pigeonhole.HandlerOption.atMost;
import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.Acceptance;
import dev.pigeonhole.Channel;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.Message;
import dev.pigeonhole.PoisonException;
import dev.pigeonhole.Received;
import dev.pigeonhole.RetryLaterException;
import dev.pigeonhole.RunningInbox;
import dev.pigeonhole.jdbc.JdbcStore;
import dev.pigeonhole.jdbc.Schema;
import dev.pigeonhole.store.StoreException;
import dev.pigeonhole.support.Direction;
import dev.pigeonhole.support.DuplicateRows;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.support.FaultProxy;
import dev.pigeonhole.support.PostgresServer;
import dev.pigeonhole.support.TestDatabase;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The primary dies, and a standby that lags behind takes its place: an asynchronous one, promoted
 * while attempts of messages are under way that it has never heard of. The new primary hands out
 * the numbers of those messages again. Whatever becomes of such an attempt concerns its own message
 * alone: every message that the new primary has accepted, or has received, is invoked.
 *
 * <p>Everything runs against the product's own connections: the pool follows the primary by its
 * URL, and the same inbox goes on.
 */
class FailoverTest {
  private static final Duration PATIENCE = Size.patience();
  private static final int ROUNDS = Size.of(3, 20);

  /** A sequence is written ahead by this many numbers; only those behind come again. */
  private static final int WRITTEN_AHEAD = 32;

  private static final int KEYS = 8;
  private static final List<String> HANDLERS = List.of("first", "second");

  @ParameterizedTest
  @ValueSource(ints = {1, 64})
  void whatTheNewPrimaryHasAcceptedIsInvoked(int lanes) throws Exception {
    Random random = new Random(Size.seed("failover with " + lanes + " lanes"));
    int slots = lanes == 1 ? 8 : 96;
    List<String> found = new ArrayList<>();
    PostgresServer primary = PostgresServer.start();
    try {
      for (int round = 1; round <= ROUNDS; round++) {
        try (FaultProxy link = FaultProxy.to("127.0.0.1", primary.port())) {
          PostgresServer standby = primary.standby(link);
          try {
            found.addAll(new Round(primary, standby, link, lanes, slots, random).run(round));
          } finally {
            primary.close();
            primary = standby;
          }
        }
      }
    } finally {
      primary.close();
    }
    assertThat(found).isEmpty();
  }

  private static final class Round {
    private final PostgresServer primary;
    private final PostgresServer standby;
    private final FaultProxy link;
    private final int lanes;
    private final int slots;
    private final Random random;
    private final CountDownLatch release = new CountDownLatch(1);
    private final AtomicInteger stuck = new AtomicInteger();

    /** Handler and message → how often it was invoked. */
    private final Map<String, AtomicInteger> invocations = new ConcurrentHashMap<>();

    private final Set<String> acceptedBefore = new HashSet<>();
    private final Set<String> acceptedAfter = new HashSet<>();

    Round(
        PostgresServer primary,
        PostgresServer standby,
        FaultProxy link,
        int lanes,
        int slots,
        Random random) {
      this.primary = primary;
      this.standby = standby;
      this.link = link;
      this.lanes = lanes;
      this.slots = slots;
      this.random = random;
    }

    /** Everything that is wrong. */
    List<String> run(int number) throws Exception {
      try (TestDatabase home = primary.emptySchema();
          TestDatabase database = following(home.schema())) {
        Schema.migrate(database.dataSource());
        Inbox inbox = inbox(database);
        try (RunningInbox running = inbox.start()) {
          accept(inbox, "kept", slots, acceptedBefore);
          standby.awaitCaughtUpWith(primary);

          link.blackhole(Direction.TO_CLIENT);
          accept(inbox, "quick", WRITTEN_AHEAD + 4, acceptedBefore);
          accept(inbox, "stuck", 2 * slots, acceptedBefore);
          Eventually.until(
              "attempts under way", PATIENCE, () -> stuck.get() >= slots * HANDLERS.size());
          primary.crash();
          standby.promote();

          accept(inbox, "new", 2 * slots + WRITTEN_AHEAD, acceptedAfter);
          release.countDown();
          accept(inbox, "late", slots, acceptedAfter);
          // What stays open is told below, with everything else.
          Eventually.holds(PATIENCE, () -> Tables.openCount(database) == 0);
          return judge(database, number);
        } finally {
          release.countDown();
        }
      }
    }

    private TestDatabase following(String schema) {
      return TestDatabase.attach(
          ("jdbc:postgresql://127.0.0.1:%d,127.0.0.1:%d/postgres?currentSchema=%s"
                  + "&targetServerType=primary&hostRecheckSeconds=0")
              .formatted(primary.port(), standby.port(), schema),
          primary.user(),
          primary.password());
    }

    private Inbox inbox(TestDatabase database) {
      return Inbox.on(JdbcStore.of(database.pool(12)))
          .named("failover")
          .lanes(lanes)
          .channel(
              Channel.named("c")
                  .on(String.class)
                  .orderedBy(key -> key.isEmpty() ? null : key)
                  .handleMessage("first", this::handle, atMost(slots))
                  .handleMessage("second", this::handle, atMost(slots))
                  .build())
          .build();
    }

    private void handle(Received<String> message) throws Exception {
      String id = message.message().id();
      int run =
          invocations
              .computeIfAbsent(message.handler() + " " + id, any -> new AtomicInteger())
              .incrementAndGet();
      if (id.startsWith("stuck") && run == 1) {
        stuck.incrementAndGet();
        release.await();
        switch (Math.floorMod(id.hashCode(), 8)) {
          case 0 -> throw new IllegalStateException("failed");
          case 1 -> throw new PoisonException("poisoned");
          case 2 -> throw RetryLaterException.after(Duration.ofSeconds(2));
          default -> {}
        }
      }
    }

    /** Half of them in ordering keys; those behind a head that is stuck wait for it. */
    private void accept(Inbox inbox, String kind, int messages, Set<String> accepted) {
      for (int i = 0; i < messages; i++) {
        String id = "%s-%d".formatted(kind, i);
        String key = random.nextInt(8) > 0 ? "" : "k" + random.nextInt(KEYS);
        Message message = Message.of(id, key);
        Eventually.until("an accept", PATIENCE, () -> isAccepted(inbox, message));
        accepted.add(id);
      }
    }

    private static boolean isAccepted(Inbox inbox, Message message) {
      try {
        Acceptance answer = inbox.accept("c", message);
        return answer instanceof Acceptance.Accepted || answer instanceof Acceptance.Repeat;
      } catch (StoreException e) {
        return false; // the pool has not found the new primary yet
      }
    }

    private List<String> judge(TestDatabase database, int number) {
      Set<String> there = new TreeSet<>();
      database
          .rows("SELECT id FROM pigeonhole_message")
          .forEach(row -> there.add(String.valueOf(row.get("id"))));
      Set<String> lost = new TreeSet<>(acceptedBefore);
      lost.removeAll(there);
      List<String> wrong = new ArrayList<>();
      for (String id : acceptedAfter) {
        if (!there.contains(id)) {
          wrong.add(
              "round %d: %s was accepted by the new primary and is gone".formatted(number, id));
        }
      }
      for (String id : lost) {
        if (id.startsWith("kept")) {
          wrong.add("round %d: %s was lost, which the standby had".formatted(number, id));
        }
      }
      for (String id : there) {
        for (String handler : HANDLERS) {
          if (!invocations.containsKey(handler + " " + id)) {
            wrong.add("round %d: %s was never invoked for %s".formatted(number, id, handler));
          }
        }
      }
      for (String duplicate : DuplicateRows.in(database)) {
        wrong.add("round %d: more than one row: %s".formatted(number, duplicate));
      }
      for (String table : List.of("poison", "failure", "delivery", "later")) {
        for (Map<String, Object> row :
            database.rows(
                "SELECT m.id FROM pigeonhole_%s f JOIN pigeonhole_message m ON m.seq = f.seq"
                    .formatted(table))) {
          wrong.add("round %d: %s has a row in %s".formatted(number, row.get("id"), table));
        }
      }
      System.out.printf(
          "round %d with %d lanes: %d attempts under way, %d messages lost with the old primary, %d"
              + " accepted by the new one, %d faults%n",
          number, lanes, stuck.get(), lost.size(), acceptedAfter.size(), wrong.size());
      return wrong;
    }
  }
}
