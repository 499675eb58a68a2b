package dev.pigeonhole.testkit;

import static dev.pigeonhole.HandlerOption.retrying;
import static dev.pigeonhole.HandlerOption.unordered;
import static dev.pigeonhole.testkit.TestInboxAssertions.assertThat;
import static java.time.Duration.ofHours;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.Channel;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.Message;
import dev.pigeonhole.PoisonException;
import dev.pigeonhole.Received;
import dev.pigeonhole.RetryLaterException;
import dev.pigeonhole.RetryPolicy;
import dev.pigeonhole.admin.DeliveryState;
import dev.pigeonhole.store.StoreException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Behaviour 64: messages of one ordering key run one at a time, in the order of receipt. */
@Timeout(600)
class OrderBehaviourTest {
  private static final int CROWD = 12_000;

  private final List<String> ran = new CopyOnWriteArrayList<>();
  private final Map<String, Throwable> thrown = new ConcurrentHashMap<>();
  private final Channel channel =
      Channel.named("c").on(String.class).handleMessage("h", this::handle).build();
  private final TestInbox inbox = TestInbox.of(channel);

  private void handle(Received<String> received) throws Exception {
    String id = received.message().id();
    ran.add(id);
    Throwable failure = thrown.get(id);
    if (failure instanceof Exception exception) {
      throw exception;
    }
  }

  private void receive(String key, String... ids) {
    for (String id : ids) {
      inbox.receive("c", Message.of(id, "x").orderedBy(key));
    }
  }

  @AfterEach
  void stop() {
    inbox.close();
  }

  @Test
  void b64_aKeyRunsInTheOrderOfReceipt() {
    receive("k", "1", "2", "3", "4", "5");
    inbox.drain();
    assertThat(ran).containsExactly("1", "2", "3", "4", "5");
  }

  @Test
  void aHandlerWithoutOrderIsNotHeldUpByAPoisonedSibling() {
    Channel mixed =
        Channel.named("mixed")
            .on(String.class)
            .handleMessage("free", this::handle, unordered())
            .handle("strict", payload -> {})
            .build();
    try (TestInbox both = TestInbox.of(mixed)) {
      thrown.put("1", new PoisonException("never"));
      for (String id : List.of("1", "2", "3")) {
        both.receive("mixed", Message.of(id, "x").orderedBy("k"));
      }
      both.drain();

      assertThat(ran).containsExactlyInAnyOrder("1", "2", "3");
      assertThat(both).delivery("1", "free").isPoisoned();
      assertThat(both).delivery("3", "free").isCompleted();
      assertThat(both).delivery("3", "strict").isCompleted();
    }
  }

  @Test
  void b64_aBatchIsReceivedInItsOwnOrder() {
    List<Message> batch = new ArrayList<>();
    for (int i = 0; i < 50; i++) {
      batch.add(Message.of("m" + (99 - i), "x").orderedBy("k"));
    }
    inbox.inbox().accept("c", batch);
    inbox.drain();
    assertThat(ran).containsExactlyElementsOf(batch.stream().map(Message::id).toList());
  }

  @Test
  void b64_aHeadInBackoffKeepsItsFollowersAndNobodyElse() {
    thrown.put("1", new IllegalStateException("not yet"));
    receive("k", "1", "2");
    receive("other", "a", "b");
    inbox.receive("free", "x");
    inbox.drain();
    assertThat(ran).contains("a", "b", "free").doesNotContain("2");
    assertThat(inbox).delivery("1", "h").isScheduled();
    assertThat(inbox).delivery("2", "h").isPending();

    receive("k", "3");
    assertThat(inbox.drain()).isZero();
    thrown.clear();
    inbox.advance(ofSeconds(2)).drain();
    assertThat(ran).endsWith("1", "2", "3");
    assertThat(inbox).isDrained();
  }

  @Test
  void b64_aHeadThatAsksForLaterKeepsItsFollowersToo() {
    thrown.put("1", RetryLaterException.uncounted(ofHours(1)));
    receive("k", "1", "2");
    inbox.drain();
    thrown.clear();
    assertThat(inbox.drain()).isZero();
    inbox.advance(ofHours(1)).drain();
    assertThat(ran).containsExactly("1", "1", "2");
  }

  @Test
  void b64_aMessageForLaterKeepsItsFollowers() {
    inbox.receive(
        "c", Message.of("1", "x").orderedBy("k").notBefore(inbox.clock().now().plusSeconds(60)));
    receive("k", "2");
    assertThat(inbox.drain()).isZero();
    inbox.advance(ofSeconds(60)).drain();
    assertThat(ran).containsExactly("1", "2");
  }

  @Test
  void b64_aPoisonedHeadBlocksItsKeyAndARetryReleasesItInOrder() {
    thrown.put("2", new PoisonException("bad"));
    receive("k", "1", "2", "3", "4");
    receive("other", "a");
    inbox.drain();
    receive("k", "5");
    inbox.drain();
    assertThat(ran).containsOnly("1", "2", "a");
    assertThat(inbox).delivery("2", "h").isPoisoned();
    assertThat(inbox).delivery("3", "h").isBlocked();
    assertThat(inbox).delivery("5", "h").isBlocked();

    thrown.clear();
    ran.clear();
    inbox.inbox().admin().retry("c", "2", "h", "mended");
    receive("k", "6");
    inbox.drain();
    assertThat(ran).containsExactly("2", "3", "4", "5", "6");
    assertThat(inbox).isDrained().hasNoPoison();
  }

  @Test
  void b64_aHeadThatIsPoisonedAgainBlocksAgain() {
    thrown.put("1", new PoisonException("bad"));
    receive("k", "1", "2");
    inbox.drain();
    inbox.inbox().admin().retry("c", "1", "h", "hoping");
    inbox.drain();
    assertThat(inbox).delivery("1", "h").isPoisoned();
    assertThat(inbox).delivery("2", "h").isBlocked();
    assertThat(ran).containsExactly("1", "1");
  }

  @Test
  void b64_twoPoisonedOfOneKeyAreBothInTheWay() {
    thrown.put("1", new PoisonException("bad"));
    thrown.put("2", new PoisonException("bad"));
    receive("k", "1", "2", "3");
    inbox.drain();
    thrown.remove("1");
    inbox.inbox().admin().retry("c", "1", "h", "mended");
    inbox.drain();
    assertThat(ran).containsExactly("1", "1", "2");
    assertThat(inbox).delivery("3", "h").isBlocked();
    thrown.clear();
    inbox.inbox().admin().retry("c", "2", "h", "mended");
    inbox.drain();
    assertThat(ran).endsWith("2", "3");
    assertThat(inbox).isDrained();
  }

  @Test
  void b64_handlersOfOneMessageKeepTheirOwnOrder() {
    AtomicBoolean broken = new AtomicBoolean(true);
    List<String> other = new ArrayList<>();
    Channel two =
        Channel.named("c")
            .on(String.class)
            .handleMessage("h", this::handle)
            .handleMessage(
                "breaks",
                received -> {
                  if (broken.get()) {
                    throw new PoisonException("bad");
                  }
                  other.add(received.message().id());
                })
            .build();
    TestInbox both = TestInbox.of(two);
    for (String id : List.of("1", "2", "3")) {
      both.receive("c", Message.of(id, "x").orderedBy("k"));
    }
    both.drain();
    assertThat(ran).containsExactly("1", "2", "3");
    assertThat(both).delivery("3", "breaks").isBlocked();
    broken.set(false);
    both.inbox().admin().retry("c", "1", "breaks", "mended");
    both.drain();
    assertThat(other).containsExactly("1", "2", "3");
  }

  @Test
  void b64_theTypesSelectorOrdersToo() {
    List<String> seen = new ArrayList<>();
    Channel selecting =
        Channel.named("c")
            .on(String.class)
            .orderedBy(text -> text.substring(0, 1))
            .handle(
                "h",
                text -> {
                  seen.add(text);
                  if (text.equals("a1") && seen.size() == 1) {
                    throw new IllegalStateException("again");
                  }
                })
            .build();
    TestInbox selected = TestInbox.of(selecting);
    selected.receive("m1", "a1");
    selected.receive("m2", "a2");
    selected.drain();
    assertThat(seen).containsExactly("a1");
    selected.advance(ofSeconds(2)).drain();
    assertThat(seen).containsExactly("a1", "a1", "a2");
  }

  @Test
  void b64_keysStayOrderedUnderFailuresWithThreads() {
    Map<String, AtomicInteger> inside = new ConcurrentHashMap<>();
    Map<String, List<Integer>> done = new ConcurrentHashMap<>();
    Set<String> overlaps = ConcurrentHashMap.newKeySet();
    Random random = new Random(7);
    Set<String> failing = ConcurrentHashMap.newKeySet();
    Channel racing =
        Channel.named("c")
            .on(String.class)
            .handleMessage(
                "h",
                received -> {
                  String key = received.orderingKey().orElseThrow();
                  AtomicInteger running = inside.computeIfAbsent(key, none -> new AtomicInteger());
                  if (running.incrementAndGet() > 1) {
                    overlaps.add(received.message().id());
                  }
                  try {
                    if (failing.remove(received.message().id())) {
                      throw new IllegalStateException("once");
                    }
                    done.computeIfAbsent(key, none -> new CopyOnWriteArrayList<>())
                        .add(Integer.valueOf(received.payload()));
                  } finally {
                    running.decrementAndGet();
                  }
                },
                retrying(RetryPolicy.fixed(ofMillis(2))))
            .build();
    TestInbox running =
        TestInbox.on(MemoryStore.create(), new TestClock(), racing)
            .with(it -> it.polling(ofMillis(1), ofMillis(5)).lanes(4).batchSize(20))
            .patience(ofMinutes(3));
    try (running) {
      running.start();
      for (int i = 0; i < 600; i++) {
        String id = "m" + i;
        if (random.nextInt(5) == 0) {
          failing.add(id);
        }
        running.receive("c", Message.of(id, String.valueOf(i)).orderedBy("k" + i % 7));
      }
      running.awaitDrained();
    }
    assertThat(overlaps).isEmpty();
    assertThat(done).hasSize(7);
    assertThat(done.values()).allSatisfy(numbers -> assertThat(numbers).isSorted());
    assertThat(done.values().stream().mapToInt(List::size).sum()).isEqualTo(600);
  }

  @Test
  void b64_lateNewsOfAHeadDoesNotStartItsFollowerTwice() throws Exception {
    HookedStore hooked = new HookedStore(MemoryStore.create());
    Gate head = new Gate();
    Gate follower = new Gate();
    CountDownLatch settled = new CountDownLatch(1);
    AtomicBoolean broken = new AtomicBoolean(true);
    Channel channel =
        Channel.named("c")
            .on(String.class)
            .handleMessage(
                "h",
                received -> {
                  ran.add(received.message().id());
                  (received.message().id().equals("1") ? head : follower).pass();
                })
            .build();
    TestInbox racing =
        TestInbox.on(hooked, new TestClock(), channel)
            .with(it -> it.polling(ofMillis(1), ofMillis(5)).lanes(1));
    try (racing) {
      racing.start();
      racing.receive("c", Message.of("1", "x").orderedBy("k"));
      head.awaitSomebody();
      hooked.around(
          "settle",
          call -> {
            Object refused = call.proceed();
            settled.countDown();
            return refused;
          });
      hooked.around(
          "ahead",
          call -> {
            if (broken.getAndSet(false)) {
              throw new StoreException(
                  StoreException.Kind.TRANSIENT, ErrorCode.DATABASE_UNREACHABLE, "cut", null);
            }
            // The head is settled after the reader has looked into its mail, and before it asks.
            head.open();
            settled.await();
            return call.proceed();
          });
      racing.receive("c", Message.of("2", "x").orderedBy("k"));
      follower.awaitSomebody();
      int reads = hooked.calls("fresh") + hooked.calls("due");
      racing.await("more reads", () -> hooked.calls("fresh") + hooked.calls("due") > reads + 30);
      assertThat(ran).containsExactly("1", "2");
      follower.open();
      racing.awaitDrained();
    } finally {
      head.open();
      follower.open();
    }
  }

  @Test
  void b64_aBlockedKeyIsReleasedInARunningInbox() {
    thrown.put("1", new PoisonException("bad"));
    inbox.start();
    receive("k", "1", "2", "3");
    inbox.await("3", "h", DeliveryState.BLOCKED);
    thrown.clear();
    inbox.inbox().admin().retry("c", "1", "h", "mended");
    inbox.inbox().wake();
    inbox.awaitDrained();
    assertThat(ran).containsExactly("1", "1", "2", "3");
  }

  /** So many are due in a minute that no read brings all of them. */
  private static void receiveCrowd(TestInbox crowded) {
    List<Message> batch = new ArrayList<>();
    for (int i = 0; i < CROWD; i++) {
      batch.add(
          Message.of("follower-" + i, "x")
              .orderedBy("crowd")
              .notBefore(crowded.clock().now().plusSeconds(60)));
    }
    crowded.inbox().accept("c", batch);
  }

  @Test
  void b64_aRetryOfAnotherKeyComesThoughThousandsOfABusyKeyHaveBeenDueForLonger() {
    Gate busy = new Gate();
    AtomicInteger tries = new AtomicInteger();
    Channel crowd =
        Channel.named("c")
            .on(String.class)
            .handleMessage(
                "h",
                received -> {
                  if (!received.message().id().equals("other")) {
                    ran.add(received.message().id());
                    busy.pass();
                  } else if (tries.incrementAndGet() == 1) {
                    throw new IllegalStateException("once");
                  }
                },
                retrying(RetryPolicy.fixed(ofSeconds(1))))
            .build();
    TestInbox crowded = TestInbox.of(crowd).with(it -> it.lanes(1));
    try (crowded) {
      receiveCrowd(crowded);
      crowded.advance(ofSeconds(60));
      crowded.start();
      busy.awaitSomebody();
      crowded.receive("c", Message.of("other", "x").orderedBy("other"));
      crowded.await("other", "h", DeliveryState.SCHEDULED);
      crowded.advance(ofSeconds(1));
      crowded.await("other", "h", DeliveryState.COMPLETED);

      assertThat(tries).hasValue(2);
      assertThat(ran).as("of %d", CROWD).containsExactly("follower-0");
      busy.open();
    }
  }

  @Test
  void b64_dueFollowersOfAHeadThatIsNotDueKeepNobodyElseFromADrain() {
    TestInbox crowded = TestInbox.of(channel).with(it -> it.lanes(1));
    crowded.receive(
        "c",
        Message.of("head", "x")
            .orderedBy("crowd")
            .notBefore(crowded.clock().now().plusSeconds(86_400)));
    receiveCrowd(crowded);
    crowded.advance(ofSeconds(60));
    thrown.put("other", new IllegalStateException("once"));
    crowded.receive("c", Message.of("other", "x").orderedBy("other"));
    crowded.drain();
    thrown.clear();

    assertThat(crowded.advance(ofSeconds(2)).drain()).isEqualTo(1);
    assertThat(ran).containsExactly("other", "other");
  }

  @Test
  void b64_manyMoreFollowersThanTheHandlerHasRoomForAreNotLost() {
    AtomicBoolean held = new AtomicBoolean(true);
    Channel narrow =
        Channel.named("c")
            .on(String.class)
            .handleMessage(
                "h",
                received -> {
                  if (held.get()) {
                    throw RetryLaterException.uncounted(ofSeconds(1));
                  }
                  ran.add(received.message().id());
                })
            .build();
    TestInbox crowded = TestInbox.of(narrow).with(it -> it.batchSize(2).concurrency(1));
    List<String> ids = new ArrayList<>();
    for (int i = 0; i < 300; i++) {
      ids.add("m" + i);
      crowded.receive("c", Message.of("m" + i, "x").orderedBy("k"));
    }
    crowded.drain();
    held.set(false);
    crowded.advance(ofSeconds(1)).drain();
    assertThat(ran).containsExactlyElementsOf(ids);
  }
}
