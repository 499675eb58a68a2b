package dev.pigeonhole.testkit;

import static dev.pigeonhole.testkit.TestInboxAssertions.assertThat;
import static java.time.Duration.ofHours;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.pigeonhole.Acceptance;
import dev.pigeonhole.Acceptance.Accepted;
import dev.pigeonhole.Acceptance.Rejected;
import dev.pigeonhole.Acceptance.Repeat;
import dev.pigeonhole.Channel;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.Message;
import dev.pigeonhole.OnConflict;
import dev.pigeonhole.admin.DeliveryState;
import dev.pigeonhole.codec.PayloadCodec;
import dev.pigeonhole.event.InboxEvent;
import dev.pigeonhole.store.StoreException;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What becomes of messages at the edge; the numbers are those of the list of behaviours. */
class AcceptBehaviourTest {
  record Placed(String order) {}

  record Paid(String order) {}

  private final List<String> ran = new CopyOnWriteArrayList<>();
  private final AtomicInteger failuresOfB = new AtomicInteger();
  private final TestClock clock = new TestClock();
  private final MemoryStore memory = MemoryStore.create().clock(clock);
  private final HookedStore store = new HookedStore(memory);
  private final Recorder events = new Recorder();
  private final Channel channel =
      Channel.named("c")
          .on(String.class)
          .handle("a", text -> ran.add("a:" + text))
          .handle("b", this::b)
          .build();
  private final TestInbox inbox =
      TestInbox.on(store, clock, channel).with(it -> it.listener(events));

  private void b(String text) {
    ran.add("b:" + text);
    if (failuresOfB.getAndDecrement() > 0) {
      throw new IllegalStateException("b fails");
    }
  }

  @AfterEach
  void forget() {
    inbox.close();
    CrashPlan.clear();
  }

  @Test
  void b01_aMessageAndADeliveryPerHandlerExistWhenAcceptAnswers() {
    assertThat(inbox.receive("m", "x")).isInstanceOf(Accepted.class);

    assertThat(memory.admin().messages()).isEqualTo(1);
    assertThat(inbox).delivery("m", "a").isPending();
    assertThat(inbox).delivery("m", "b").isPending();
    assertThat(ran).isEmpty();
  }

  @Test
  void b02_aRepeatAddsNothingAndRunsNobody() {
    inbox.receive("m", "x");
    inbox.drain();
    ran.clear();
    clock.advance(ofSeconds(5));

    assertThat(inbox.receive("m", "x"))
        .isInstanceOfSatisfying(
            Repeat.class, repeat -> assertThat(repeat.firstReceived()).isEqualTo(TestClock.START));
    assertThat(inbox.drain()).isZero();

    assertThat(memory.admin().messages()).isEqualTo(1);
    assertThat(ran).isEmpty();
    assertThat(events.of(InboxEvent.Repeated.class)).hasSize(1);
  }

  @Test
  void b03_dur01_aCrashBetweenCommitAndAnswerIsHealedByTheRepeat() {
    CrashPlan.at("accept.after-commit").throwing(() -> new IllegalStateException("cut"));
    assertThatThrownBy(() -> inbox.receive("m", "x")).hasMessage("cut");

    assertThat(inbox.receive("m", "x")).isInstanceOf(Repeat.class);
    inbox.drain();

    assertThat(ran).containsExactlyInAnyOrder("a:x", "b:x");
  }

  @Test
  void b04_b12_manyThreadsWithOneIdStoreItOnce() throws Exception {
    inbox.start();
    List<Acceptance> answers = inParallel(16, n -> inbox.receive("m", "x"));
    inbox.awaitDrained();

    assertThat(answers).filteredOn(Accepted.class::isInstance).hasSize(1);
    assertThat(answers).filteredOn(Repeat.class::isInstance).hasSize(15);
    assertThat(memory.admin().messages()).isEqualTo(1);
    assertThat(ran).containsExactlyInAnyOrder("a:x", "b:x");
  }

  @Test
  void b04_twoNodesWithOneIdStoreItOnce() throws Exception {
    TestInbox other = TestInbox.on(memory, clock, channel);
    for (int round = 0; round < 50; round++) {
      String id = "m" + round;
      List<Acceptance> answers = inParallel(2, n -> (n == 0 ? inbox : other).receive(id, "x"));
      assertThat(answers).filteredOn(Accepted.class::isInstance).hasSize(1);
      assertThat(answers).filteredOn(Repeat.class::isInstance).hasSize(1);
    }
    assertThat(inbox.drain()).isEqualTo(100);
  }

  @Test
  void b05_id04_twoHundredCharactersAreAnIdAndOneMoreIsNot() {
    String emoji = "\uD83D\uDE00".repeat(200);
    assertThat(inbox.receive("x".repeat(200), "x")).isInstanceOf(Accepted.class);
    assertThat(inbox.receive(emoji, "x")).isInstanceOf(Accepted.class);
    assertRejected(inbox.receive("x".repeat(201), "x"), ErrorCode.ID_TOO_LONG, "the limit is 200");
    assertRejected(inbox.receive(emoji + "x", "x"), ErrorCode.ID_TOO_LONG, "201 characters");
    assertThat(memory.admin().messages()).isEqualTo(2);
    inbox.drain();
    assertThat(inbox).delivery(emoji, "a").isCompleted();
  }

  @Test
  void b06_id07_anIdThatIsNoneIsRejectedBeforeAnyRow() {
    assertRejected(inbox.receive(null, "x"), ErrorCode.ID_MISSING, "no id");
    assertRejected(inbox.receive("", "x"), ErrorCode.ID_MISSING, "no id");
    assertRejected(inbox.receive(" \u00A0\t", "x"), ErrorCode.ID_BLANK, "blank");
    assertRejected(inbox.receive("a\nb", "x"), ErrorCode.ID_CONTROL_CHARACTER, "U+000A");
    assertRejected(inbox.receive("a\uD800", "x"), ErrorCode.ID_INVALID_UNICODE, "U+D800");
    assertThat(memory.admin().messages()).isZero();
    assertThat(events.of(InboxEvent.Rejected.class)).hasSize(5);
  }

  @Test
  void b07_b12_aStoreThatFailsIsNotAnAnswer() {
    store.around(
        "acceptTogether",
        call -> {
          throw new StoreException(
              StoreException.Kind.TRANSIENT, ErrorCode.DATABASE_UNREACHABLE, "down", null);
        });
    assertThatThrownBy(() -> inbox.receive("m", "x")).isInstanceOf(StoreException.class);
    assertThat(memory.admin().messages()).isZero();

    store.unhook("acceptTogether");
    assertThat(inbox.receive("m", "x")).isInstanceOf(Accepted.class);
  }

  @Test
  void b08_aHandlerThatFailsLaterDoesNotTouchTheAnswer() {
    failuresOfB.set(5);
    assertThat(inbox.receive("m", "x")).isInstanceOf(Accepted.class);
    for (int i = 0; i < 5; i++) {
      inbox.drain();
      inbox.advance(ofHours(1));
    }
    assertThat(inbox).delivery("m", "b").isPoisoned();
    assertThat(inbox.receive("m", "x")).isInstanceOf(Repeat.class);
    assertThat(inbox).delivery("m", "b").isPoisoned();
    assertThat(inbox.drain()).isZero();
  }

  @Test
  void b09_aHandlerThatIsNewGetsARepeatThatTheOthersDoNot() {
    Channel before = Channel.named("c").on(String.class).handle("a", ran::add).build();
    TestInbox old = TestInbox.on(memory, clock, before);
    old.receive("m", "x");
    old.drain();
    ran.clear();

    assertThat(inbox.receive("m", "x")).isInstanceOf(Repeat.class);
    assertThat(inbox).delivery("m", "a").isCompleted();
    assertThat(inbox).delivery("m", "b").isPending();
    assertThat(inbox.drain()).isEqualTo(1);
    assertThat(ran).containsExactly("b:x");
  }

  @Test
  void b09_theNewHandlerRunsInARunningInboxToo() {
    Channel before = Channel.named("c").on(String.class).handle("a", ran::add).build();
    TestInbox old = TestInbox.on(memory, clock, before);
    old.receive("m", "x");
    old.drain();
    ran.clear();

    inbox.start();
    inbox.receive("m", "x");
    inbox.await("m", "b", DeliveryState.COMPLETED);
    assertThat(ran).containsExactly("b:x");
  }

  @Test
  void b10_whatFailedRunsAgainAloneAndARepeatChangesNothing() {
    failuresOfB.set(1);
    inbox.receive("m", "x");
    inbox.drain();
    assertThat(ran).containsExactlyInAnyOrder("a:x", "b:x");
    ran.clear();

    inbox.receive("m", "x");
    assertThat(inbox.drain()).isZero();
    inbox.advance(ofSeconds(2)).drain();

    assertThat(ran).containsExactly("b:x");
    assertThat(inbox).delivery("m", "b").isCompleted().hasFailedTimes(1);
  }

  @Test
  void b13_eachHandlerKeepsItsOwnAccount() {
    failuresOfB.set(1);
    inbox.receive("m", "x");
    inbox.drain();
    assertThat(inbox).delivery("m", "a").isCompleted().hasFailedTimes(0);
    assertThat(inbox).delivery("m", "b").isScheduled().hasFailedTimes(1);
  }

  @Test
  void b14_equalBusinessKeysOfTwoTypesDoNotMeet() {
    Channel keyed =
        Channel.named("keyed")
            .on(Placed.class)
            .keyedBy(Placed::order)
            .handle("placed", placed -> ran.add("placed"))
            .on(Paid.class)
            .keyedBy(Paid::order)
            .handle("paid", paid -> ran.add("paid"))
            .build();
    TestInbox both = TestInbox.of(keyed).with(it -> it.codec(new RecordCodec()));
    assertThat(both.receive("m1", new Placed("o-1"))).isInstanceOf(Accepted.class);
    assertThat(both.receive("m2", new Paid("o-1"))).isInstanceOf(Accepted.class);
    assertThat(both.receive("m3", new Paid("o-1"))).isInstanceOf(Repeat.class);
    both.drain();
    assertThat(ran).containsExactlyInAnyOrder("placed", "paid");
  }

  @Test
  void dur14_oneBadMessageDoesNotSinkItsBatch() {
    List<Acceptance> answers =
        inbox
            .inbox()
            .accept(
                "c",
                List.of(
                    Message.of("1", "x"),
                    Message.of(" ", "x"),
                    Message.of("1", "x"),
                    Message.of("2", 42),
                    Message.of("3", "x")));
    assertThat(answers.get(0)).isInstanceOf(Accepted.class);
    assertRejected(answers.get(1), ErrorCode.ID_BLANK, "blank");
    assertThat(answers.get(2)).isInstanceOf(Repeat.class);
    assertThat(answers.get(3)).isInstanceOf(Rejected.class);
    assertThat(answers.get(4)).isInstanceOf(Accepted.class);
    assertThat(inbox.drain()).isEqualTo(4);
  }

  @Test
  void aCodecThatThrowsRejectsItsMessageAlone() {
    PayloadCodec broken =
        new PayloadCodec() {
          @Override
          public String contentType() {
            return "broken";
          }

          @Override
          public byte[] encode(Object payload) {
            throw new IllegalStateException("cannot write " + payload);
          }

          @Override
          public <T> @Nullable T decode(
              byte @Nullable [] content, String contentType, Class<T> type) {
            throw new IllegalStateException("cannot read");
          }
        };
    Channel mixed =
        Channel.named("c")
            .on(String.class)
            .handle("text", ran::add)
            .on(Placed.class)
            .handle("placed", placed -> {})
            .build();
    TestInbox mixing = TestInbox.of(mixed).with(it -> it.codec(broken));
    List<Acceptance> answers =
        mixing.inbox().accept("c", List.of(Message.of("1", new Placed("o")), Message.of("2", "x")));
    assertRejected(answers.get(0), ErrorCode.PAYLOAD_UNENCODABLE, "IllegalStateException");
    assertThat(answers.get(1)).isInstanceOf(Accepted.class);
  }

  @Test
  void anUnknownChannelIsNamedWithThoseThereAre() {
    assertThatThrownBy(() -> inbox.receive("nowhere", Message.of("m", "x")))
        .isInstanceOfSatisfying(
            InboxException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.CHANNEL_UNKNOWN))
        .hasMessageContaining("no channel 'nowhere'. It has: c.");
  }

  @Test
  void theSameIdWithOtherContentIsAConflictByPolicy() {
    inbox.receive("m", "x");
    assertThat(inbox.receive("m", "y")).isInstanceOf(Acceptance.Conflict.class);
    assertThat(memory.tables().conflicts).hasSize(1);
    assertThat(events.of(InboxEvent.Conflicted.class)).hasSize(1);
    inbox.drain();
    assertThat(ran).containsExactlyInAnyOrder("a:x", "b:x");

    Channel lenient =
        Channel.named("c")
            .onConflict(OnConflict.REPEAT)
            .on(String.class)
            .handle("a", x -> {})
            .build();
    TestInbox trusting = TestInbox.of(lenient);
    trusting.receive("m", "x");
    assertThat(trusting.receive("m", "y")).isInstanceOf(Repeat.class);
  }

  @Test
  void acceptsOfManyThreadsShareCommits() throws Exception {
    Gate gate = new Gate();
    AtomicBoolean first = new AtomicBoolean(true);
    store.around(
        "acceptTogether",
        call -> {
          if (first.getAndSet(false)) {
            gate.pass();
          }
          return call.proceed();
        });
    inbox.inbox();
    List<Thread> threads = new ArrayList<>();
    List<Acceptance> answers = new CopyOnWriteArrayList<>();
    for (int i = 0; i < 10; i++) {
      String id = "m" + i;
      Thread thread = new Thread(() -> answers.add(inbox.receive(id, "x")));
      thread.setDaemon(true);
      thread.start();
      threads.add(thread);
      if (i == 0) {
        gate.awaitSomebody();
      }
    }
    inbox.await(
        "all threads to queue up",
        () -> threads.stream().skip(1).allMatch(AcceptBehaviourTest::standsInTheGroup));
    gate.open();
    for (Thread thread : threads) {
      thread.join();
    }
    assertThat(answers).hasSize(10).allMatch(Accepted.class::isInstance);
    assertThat(store.calls("acceptTogether")).isEqualTo(2);
  }

  @Test
  void aGroupThatFailsForAnUnknownReasonIsAcceptedOneByOne() throws Exception {
    Gate gate = new Gate();
    AtomicInteger commits = new AtomicInteger();
    store.around(
        "acceptTogether",
        call -> {
          int nth = commits.incrementAndGet();
          if (nth == 1) {
            gate.pass();
          } else if (nth == 2) {
            throw new LinkageError("broken driver");
          }
          return call.proceed();
        });
    inbox.inbox();
    List<Thread> threads = new ArrayList<>();
    ConcurrentHashMap<String, Object> answers = new ConcurrentHashMap<>();
    for (int i = 0; i < 3; i++) {
      String id = "m" + i;
      Thread thread =
          new Thread(
              () -> {
                try {
                  answers.put(id, inbox.receive(id, "x"));
                } catch (Throwable e) {
                  answers.put(id, e);
                }
              });
      thread.setDaemon(true);
      thread.start();
      threads.add(thread);
      if (i == 0) {
        gate.awaitSomebody();
      }
    }
    inbox.await(
        "two to queue up",
        () -> threads.stream().skip(1).allMatch(AcceptBehaviourTest::standsInTheGroup));
    gate.open();
    for (Thread thread : threads) {
      thread.join();
    }
    assertThat(answers).containsOnlyKeys("m0", "m1", "m2");
    assertThat(answers.values()).allMatch(Accepted.class::isInstance);
    assertThat(inbox.receive("m1", "x")).isInstanceOf(Repeat.class);
  }

  @Test
  void aLocalAcceptIsHandedOverWithoutReadingBack() {
    inbox.with(it -> it.lanes(1).polling(ofHours(1), ofHours(1))).start();
    inbox.receive("m1", "x");
    inbox.awaitDrained();
    int loads = store.calls("load");
    for (int i = 0; i < 20; i++) {
      inbox.receive("n" + i, "x");
      inbox.awaitDrained();
    }
    // A look back may find some between their commit and their hand-over, but never all.
    assertThat(store.calls("load") - loads).isLessThan(20);
  }

  @Test
  void wakeFindsWhatAnotherProcessHasAccepted() {
    inbox.with(it -> it.polling(ofHours(1), ofHours(1))).start();
    inbox.receive("m1", "x");
    inbox.awaitDrained();

    Inbox elsewhere = Inbox.on(memory).channel(channel).build();
    elsewhere.accept("c", Message.of("m2", "x"));
    inbox.inbox().wake();
    inbox.awaitDrained();
    assertThat(ran).filteredOn("a:x"::equals).hasSize(2);
  }

  @Test
  void b47_wakeFindsWhatAnotherProcessHasScheduled() {
    inbox.with(it -> it.polling(ofHours(1), ofHours(1))).start();
    inbox.receive("m1", "x");
    inbox.awaitDrained();
    ran.clear();

    Inbox elsewhere = Inbox.on(memory).channel(channel).build();
    elsewhere.accept("c", Message.of("m2", "x").notBefore(clock.now().plusSeconds(60)));
    inbox.advance(ofSeconds(60)); // which wakes it
    inbox.awaitDrained();
    assertThat(ran).hasSize(2);
  }

  private static void assertRejected(Acceptance answer, ErrorCode code, String reason) {
    assertThat(answer)
        .isInstanceOfSatisfying(
            Rejected.class,
            rejected -> {
              assertThat(rejected.code()).isEqualTo(code);
              assertThat(rejected.reason()).contains(reason);
            });
  }

  private interface Numbered {
    Acceptance call(int n) throws Exception;
  }

  /** Not in some lock of a class loader or the JDK on its way there. */
  private static boolean standsInTheGroup(Thread thread) {
    return thread.getState() == Thread.State.WAITING
        && Stream.of(thread.getStackTrace())
            .anyMatch(frame -> frame.getClassName().contains(".GroupAcceptor"));
  }

  private static List<Acceptance> inParallel(int threads, Numbered task) throws Exception {
    ExecutorService pool = Executors.newFixedThreadPool(threads);
    try {
      CyclicBarrier start = new CyclicBarrier(threads);
      List<Future<Acceptance>> futures = new ArrayList<>();
      for (int i = 0; i < threads; i++) {
        int n = i;
        futures.add(
            pool.submit(
                () -> {
                  start.await(300, TimeUnit.SECONDS);
                  return task.call(n);
                }));
      }
      List<Acceptance> answers = new ArrayList<>();
      for (Future<Acceptance> future : futures) {
        answers.add(Objects.requireNonNull(future.get(300, TimeUnit.SECONDS)));
      }
      return answers;
    } finally {
      pool.shutdownNow();
    }
  }
}
