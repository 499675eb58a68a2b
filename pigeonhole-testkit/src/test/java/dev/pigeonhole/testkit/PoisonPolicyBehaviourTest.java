package dev.pigeonhole.testkit;

import static dev.pigeonhole.HandlerOption.unordered;
import static dev.pigeonhole.testkit.TestInboxAssertions.assertThat;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.pigeonhole.Channel;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.Message;
import dev.pigeonhole.MessageRef;
import dev.pigeonhole.OnPoison;
import dev.pigeonhole.PoisonException;
import dev.pigeonhole.Received;
import dev.pigeonhole.admin.BlockedKey;
import dev.pigeonhole.admin.DeliveryState;
import dev.pigeonhole.admin.InboxAdmin;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What a poisoned delivery does to those behind it in its ordering key. */
@Timeout(600)
class PoisonPolicyBehaviourTest {
  private final List<String> ran = new CopyOnWriteArrayList<>();
  private final Set<String> poisonous = ConcurrentHashMap.newKeySet();
  private final List<TestInbox> open = new ArrayList<>();
  private final TestClock clock = new TestClock();
  private final MemoryStore store = MemoryStore.create().clock(clock);

  private void handle(Received<String> received) {
    String id = received.message().id();
    ran.add(id);
    if (poisonous.contains(id)) {
      throw new PoisonException("bad");
    }
  }

  private TestInbox inbox(OnPoison onPoison) {
    return inbox(
        Channel.named("c")
            .onPoison(onPoison)
            .on(String.class)
            .handleMessage("h", this::handle)
            .build());
  }

  private TestInbox inbox(Channel channel) {
    TestInbox inbox =
        TestInbox.on(store, clock, channel)
            .with(it -> it.polling(ofMillis(1), ofMillis(5)).lanes(4))
            .patience(ofMinutes(3));
    open.add(inbox);
    return inbox;
  }

  private static void receive(TestInbox inbox, String key, String... ids) {
    for (String id : ids) {
      inbox.receive("c", Message.of(id, "x").orderedBy(key));
    }
  }

  private static InboxAdmin admin(TestInbox inbox) {
    return inbox.inbox().admin();
  }

  @AfterEach
  void stop() {
    open.forEach(TestInbox::close);
  }

  @Test
  void skippedPoisonStopsNobody() {
    TestInbox inbox = inbox(OnPoison.SKIP);
    poisonous.add("2");
    receive(inbox, "k", "1", "2", "3", "4");
    inbox.drain();
    receive(inbox, "k", "5");
    inbox.drain();

    assertThat(ran).containsExactly("1", "2", "3", "4", "5");
    assertThat(inbox).delivery("2", "h").isPoisoned();
    assertThat(inbox).delivery("5", "h").isCompleted();
    assertThat(admin(inbox).blockedKeys(10)).isEmpty();
  }

  @Test
  void skippedPoisonThatIsRetriedRunsBeforeWhatHasNotBegun() {
    TestInbox inbox = inbox(OnPoison.SKIP);
    poisonous.add("1");
    receive(inbox, "k", "1", "2");
    inbox.drain();
    ran.clear();
    poisonous.clear();
    receive(inbox, "k", "3", "4");
    admin(inbox).retry("c", "1", "h", "mended");
    inbox.drain();

    assertThat(ran).containsExactly("1", "3", "4");
  }

  @Test
  void skippedPoisonThatIsRetriedNeverRunsBesideAnotherOfItsKey() {
    Gate gate = new Gate();
    AtomicInteger inside = new AtomicInteger();
    List<String> overlaps = new CopyOnWriteArrayList<>();
    TestInbox inbox =
        inbox(
            Channel.named("c")
                .onPoison(OnPoison.SKIP)
                .on(String.class)
                .handleMessage(
                    "h",
                    received -> {
                      String id = received.message().id();
                      if (received.orderingKey().orElseThrow().equals("other")) {
                        return;
                      }
                      if (inside.incrementAndGet() > 1) {
                        overlaps.add(id);
                      }
                      try {
                        if (id.equals("2")) {
                          gate.pass();
                        }
                        handle(received);
                      } finally {
                        inside.decrementAndGet();
                      }
                    })
                .build());
    try {
      poisonous.add("1");
      inbox.start();
      receive(inbox, "k", "1", "2", "3");
      gate.awaitSomebody(); // the second is at work
      poisonous.clear();
      assertThat(admin(inbox).retry("c", "1", "h", "mended")).isTrue();
      receive(inbox, "other", "a");
      inbox.await("a", "h", DeliveryState.COMPLETED); // it looks around meanwhile
      gate.open();
      inbox.awaitDrained();
    } finally {
      gate.open();
    }

    assertThat(overlaps).isEmpty();
    assertThat(ran).startsWith("1", "2").contains("3").hasSize(4);
  }

  @Test
  void aHeldSequenceWaitsForItsRelease() {
    TestInbox inbox = inbox(OnPoison.HOLD_SEQUENCE);
    poisonous.add("2");
    receive(inbox, "k", "1", "2", "3", "4");
    receive(inbox, "other", "a");
    inbox.drain();
    assertThat(ran).contains("1", "2", "a").hasSize(3);
    assertThat(inbox).delivery("3", "h").isBlocked();
    assertThat(admin(inbox).blockedKeys(10))
        .containsExactly(
            new BlockedKey(
                "h", "k", Optional.of(new MessageRef("c", "2")), true, 2, clock.instant()));

    poisonous.clear();
    ran.clear();
    admin(inbox).retry("c", "2", "h", "mended");
    inbox.drain();
    assertThat(ran).containsExactly("2");
    assertThat(inbox).delivery("2", "h").isCompleted();
    assertThat(inbox).delivery("3", "h").isBlocked();
    receive(inbox, "k", "5");
    inbox.drain();
    assertThat(inbox).delivery("5", "h").isBlocked();
    assertThat(admin(inbox).blockedKeys(10).get(0).head()).isEmpty();

    assertThat(admin(inbox).as("ada").releaseKey("h", "k", "checked")).isTrue();
    receive(inbox, "k", "6");
    inbox.drain();
    assertThat(ran).containsExactly("2", "3", "4", "5", "6");
    assertThat(inbox).isDrained();
    assertThat(admin(inbox).blockedKeys(10)).isEmpty();
    assertThat(admin(inbox).releaseKey("h", "k", "again")).isFalse();
  }

  @Test
  void releasingAKeyPassesOverItsPoisonedHead() {
    for (OnPoison policy : List.of(OnPoison.BLOCK_KEY, OnPoison.HOLD_SEQUENCE)) {
      TestInbox inbox = TestInbox.of(channel(policy));
      open.add(inbox);
      ran.clear();
      poisonous.add("1");
      receive(inbox, "k", "1", "2", "3");
      inbox.drain();
      assertThat(ran).as("%s", policy).containsExactly("1");

      assertThat(admin(inbox).releaseKey("h", "k", "the first is not needed")).isTrue();
      inbox.drain();
      assertThat(ran).containsExactly("1", "2", "3");
      assertThat(inbox).delivery("1", "h").isPoisoned();
      receive(inbox, "k", "4");
      inbox.drain();
      assertThat(ran).endsWith("4");
    }
  }

  private Channel channel(OnPoison policy) {
    return Channel.named("c")
        .onPoison(policy)
        .on(String.class)
        .handleMessage("h", this::handle)
        .build();
  }

  @Test
  void aSequenceThatIsPoisonedAgainBehindItsReleaseIsHeldAgain() {
    TestInbox inbox = inbox(OnPoison.HOLD_SEQUENCE);
    poisonous.addAll(List.of("1", "3"));
    receive(inbox, "k", "1", "2", "3", "4");
    inbox.drain();
    admin(inbox).releaseKey("h", "k", "pass over 1");
    inbox.drain();

    assertThat(ran).containsExactly("1", "2", "3");
    assertThat(inbox).delivery("4", "h").isBlocked();
    assertThat(admin(inbox).blockedKeys(10))
        .singleElement()
        .satisfies(key -> assertThat(key.head()).contains(new MessageRef("c", "3")));
    admin(inbox).releaseKey("h", "k", "pass over 3");
    inbox.drain();
    assertThat(ran).endsWith("4");
  }

  @Test
  void aHeldSequenceStaysHeldOnAnotherNodeAndUnderAnotherPolicy() {
    TestInbox first = inbox(OnPoison.HOLD_SEQUENCE);
    poisonous.add("1");
    receive(first, "k", "1", "2");
    first.drain();
    first.close();
    poisonous.clear();

    TestInbox second = inbox(OnPoison.SKIP);
    receive(second, "k", "3");
    second.drain();
    admin(second).complete("c", "1", "h", "done by hand");
    second.drain();
    assertThat(ran).containsExactly("1");
    assertThat(second).delivery("3", "h").isBlocked();

    admin(second).releaseKey("h", "k", "checked");
    second.drain();
    assertThat(ran).containsExactly("1", "2", "3");
  }

  @Test
  void aHandlerWithoutOrderHoldsNothing() {
    TestInbox inbox =
        inbox(
            Channel.named("c")
                .onPoison(OnPoison.HOLD_SEQUENCE)
                .on(String.class)
                .handleMessage("h", this::handle, unordered())
                .build());
    poisonous.add("1");
    receive(inbox, "k", "1", "2");
    inbox.drain();

    assertThat(inbox).delivery("2", "h").isCompleted();
    assertThat(admin(inbox).blockedKeys(10)).isEmpty();
  }

  @Test
  void messagesWithoutAKeyDoNotNoticeThePolicy() {
    TestInbox inbox = inbox(OnPoison.HOLD_SEQUENCE);
    poisonous.add("1");
    inbox.receive("1", "x");
    inbox.receive("2", "x");
    inbox.drain();

    assertThat(inbox).delivery("1", "h").isPoisoned();
    assertThat(inbox).delivery("2", "h").isCompleted();
    assertThat(admin(inbox).blockedKeys(10)).isEmpty();
  }

  @Test
  void aSlipInTheHandlersNameIsNoGoodNews() {
    TestInbox inbox = inbox(OnPoison.BLOCK_KEY);
    inbox.drain();

    assertThatThrownBy(() -> admin(inbox).releaseKey("hh", "k", "x"))
        .isInstanceOfSatisfying(
            InboxException.class,
            e -> assertThat(e.code()).isEqualTo(ErrorCode.HANDLER_KEY_UNKNOWN));
  }

  /**
   * Twenty releases while followers settle and messages arrive: none lost, none twice, in order.
   */
  @Test
  void keysThatAreReleasedWhileTheyRunKeepTheirOrder() {
    Map<String, List<Integer>> done = new ConcurrentHashMap<>();
    TestInbox inbox =
        inbox(
            Channel.named("c")
                .onPoison(OnPoison.HOLD_SEQUENCE)
                .on(String.class)
                .handleMessage(
                    "h",
                    received -> {
                      if (poisonous.contains(received.message().id())) {
                        throw new PoisonException("bad");
                      }
                      done.computeIfAbsent(
                              received.orderingKey().orElseThrow(),
                              none -> new CopyOnWriteArrayList<>())
                          .add(Integer.valueOf(received.payload()));
                    })
                .build());
    inbox.start();
    for (int i = 0; i < 400; i++) {
      if (i % 40 < 2) {
        poisonous.add("m" + i);
      }
      inbox.receive("c", Message.of("m" + i, String.valueOf(i)).orderedBy("k" + i % 2));
      if (i % 20 == 19) {
        admin(inbox).releaseKey("h", "k" + i / 20 % 2, "go on");
      }
    }
    inbox.await(
        "everything but the poisoned to be completed",
        () -> {
          admin(inbox).blockedKeys(10).forEach(this::releaseAgain);
          return done.values().stream().mapToInt(List::size).sum() >= 380;
        });
    inbox.awaitDrained();

    assertThat(done.values()).allSatisfy(numbers -> assertThat(numbers).isSorted());
    assertThat(done.values().stream().mapToInt(List::size).sum()).isEqualTo(380);
  }

  private void releaseAgain(BlockedKey key) {
    admin(open.get(0)).releaseKey(key.handler(), key.orderingKey(), "go on");
  }
}
