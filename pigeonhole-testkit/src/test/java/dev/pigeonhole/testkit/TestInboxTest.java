package dev.pigeonhole.testkit;

import static dev.pigeonhole.testkit.TestInboxAssertions.assertThat;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import dev.pigeonhole.Acceptance;
import dev.pigeonhole.Channel;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.Message;
import dev.pigeonhole.PoisonException;
import dev.pigeonhole.RetryPolicy;
import dev.pigeonhole.admin.DeliveryState;
import dev.pigeonhole.admin.InboxAdmin;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.RegisterExtension;

class TestInboxTest {
  record OrderPlaced(String order) {}

  private final AtomicInteger failures = new AtomicInteger();
  private final List<String> reserved = new ArrayList<>();
  private final Channel orders =
      Channel.named("orders")
          .on(OrderPlaced.class)
          .handle("reserve-stock", order -> reserved.add(order.order()))
          .handle("send-receipt", order -> sendReceipt())
          .build();
  private final TestInbox inbox = TestInbox.of(orders).with(it -> it.codec(new RecordCodec()));

  private void sendReceipt() {
    if (failures.getAndDecrement() > 0) {
      throw new IllegalStateException("mail server is down");
    }
  }

  @Test
  void failingHandlerBacksOffWithoutHoldingItsSiblings() {
    failures.set(1);

    inbox.receive("m-1", new OrderPlaced("o-1"));
    inbox.drain();

    assertThat(inbox).delivery("m-1", "reserve-stock").isCompleted();
    assertThat(inbox).delivery("m-1", "send-receipt").hasFailedTimes(1).isScheduled();
    assertThat(inbox).delivery("m-1", "send-receipt").isDueBetween(ofSeconds(1), ofSeconds(2));

    inbox.advance(ofSeconds(2)).drain();

    assertThat(inbox).delivery("m-1", "send-receipt").isCompleted().hasAttempts(2);
    assertThat(inbox).isDrained().hasNoPoison().has(2, DeliveryState.COMPLETED);
    assertThat(reserved).containsExactly("o-1");
  }

  @Test
  void anInboxThatSomebodyElseBuildsIsDrivenAndSeenWhoeverAcceptsMessages() {
    TestClock clock = new TestClock();
    Inbox theirs =
        Inbox.on(MemoryStore.create().clock(clock))
            .codec(new RecordCodec())
            .channel(orders)
            .build();
    TestInbox around = TestInbox.around(() -> theirs, clock);
    failures.set(1);

    theirs.accept("orders", Message.of("m-1", new OrderPlaced("o-1")));
    around.receive("orders", Message.of("m-2", new OrderPlaced("o-2")));
    around.drain();

    assertThat(around).delivery("m-1", "send-receipt").isScheduled();
    assertThat(around.deliveries())
        .extracting(view -> view.message().id())
        .containsExactly("m-1", "m-1", "m-2", "m-2");

    around.advance(ofSeconds(2)).drain();

    assertThat(around).delivery("m-1", "send-receipt").isCompleted().hasAttempts(2);
    assertThatIllegalStateException().isThrownBy(() -> around.with(it -> it));
    assertThatIllegalStateException().isThrownBy(around::store);
    assertThatIllegalStateException()
        .isThrownBy(() -> around.receive("m-3", new OrderPlaced("o-3")))
        .withMessageContaining("say which with receive(channel, Message.of(id, …))");
  }

  @Test
  void assertionsThatFailShowEveryDelivery() {
    failures.set(1);
    inbox.receive("m-1", new OrderPlaced("o-1"));
    inbox.drain();
    inbox.receive(" ", new OrderPlaced("o-2"));

    assertThatExceptionOfType(AssertionError.class)
        .isThrownBy(() -> assertThat(inbox).delivery("m-1", "send-receipt").isCompleted())
        .withMessageContaining("Expected the delivery of 'm-1' to 'send-receipt' to be COMPLETED")
        .withMessageContaining("orders/m-1 to reserve-stock: COMPLETED, 0 failures")
        .withMessageContaining("orders/m-1 to send-receipt: SCHEDULED, due 2030-01-01T00:00:0")
        .withMessageContaining("1 failures, last: PH-HND-01 java.lang.IllegalStateException")
        .withMessageContaining("mail server is down")
        .withMessageContaining("rejected: PH-ID-02");
    fails("still open", () -> assertThat(inbox).isDrained());
    fails("to be PENDING", () -> assertThat(inbox).delivery("m-1", "send-receipt").isPending());
    fails("to be POISONED", () -> assertThat(inbox).delivery("m-1", "send-receipt").isPoisoned());
    fails("to be BLOCKED", () -> assertThat(inbox).delivery("m-1", "send-receipt").isBlocked());
    fails(
        "to have failed 2 times",
        () -> assertThat(inbox).delivery("m-1", "send-receipt").hasFailedTimes(2));
    fails(
        "attempts, but it had 1",
        () -> assertThat(inbox).delivery("m-1", "send-receipt").hasAttempts(2));
    fails(
        "due in PT",
        () ->
            assertThat(inbox)
                .delivery("m-1", "send-receipt")
                .isDueBetween(ofSeconds(5), ofSeconds(6)));
    fails(
        "not to exist", () -> assertThat(inbox).delivery("m-1", "send-receipt").wasNotDelivered());
    fails("there is none", () -> assertThat(inbox).delivery("m-9", "send-receipt").isCompleted());
    fails("There is no handler key 'typo'", () -> assertThat(inbox).delivery("m-1", "typo"));
    fails(
        "2 deliveries to be POISONED, but 0",
        () -> assertThat(inbox).has(2, DeliveryState.POISONED));
    assertThat(inbox).delivery("m-9", "send-receipt").wasNotDelivered();
  }

  private static void fails(String message, Runnable assertion) {
    assertThatExceptionOfType(AssertionError.class)
        .isThrownBy(assertion::run)
        .withMessageContaining(message);
  }

  @Test
  void poisonIsSeen() {
    Channel strict =
        Channel.named("strict")
            .on(String.class)
            .handle(
                "refuse",
                text -> {
                  throw new PoisonException("never: " + text);
                })
            .build();
    TestInbox refusing = TestInbox.of(strict);
    refusing.receive("m-1", "x");
    refusing.drain();

    assertThat(refusing)
        .delivery("strict", "m-1", "refuse")
        .isPoisonedWith(ErrorCode.HANDLER_POISONED)
        .failedWithMessage("never: x");
    fails("1 deliveries are poisoned", () -> assertThat(refusing).hasNoPoison());
    fails(
        "to be poisoned with PH-HND-01",
        () ->
            assertThat(refusing)
                .delivery("m-1", "refuse")
                .isPoisonedWith(ErrorCode.HANDLER_FAILED));
  }

  @Test
  void whatAnOperatorEndsIsNoAttempt() {
    failures.set(2);
    TestInbox impatient =
        TestInbox.of(orders)
            .with(it -> it.codec(new RecordCodec()))
            .with(it -> it.retry(RetryPolicy.defaults().maxAttempts(1)));
    impatient.receive("m-1", new OrderPlaced("o-1"));
    impatient.receive("m-2", new OrderPlaced("o-2"));
    impatient.drain();
    InboxAdmin admin = impatient.inbox().admin().as("jane");
    admin.complete("orders", "m-1", "send-receipt", "sent by post");
    admin.discard("orders", "m-2", "send-receipt", "a test order");

    assertThat(impatient).delivery("m-1", "send-receipt").isCompleted().hasAttempts(1);
    assertThat(impatient).delivery("m-2", "send-receipt").isDiscarded().hasAttempts(1);
    assertThat(impatient).delivery("m-1", "reserve-stock").isCompleted().hasAttempts(1);
    fails(
        "to be DISCARDED",
        () -> assertThat(impatient).delivery("m-1", "send-receipt").isDiscarded());

    admin.replay("orders", "m-1", "send-receipt", "it was lost in the post");
    impatient.drain();

    assertThat(impatient).delivery("m-1", "send-receipt").isCompleted().hasAttempts(1);
  }

  @Test
  void optionsComeFirst() {
    failures.set(1);
    TestInbox impatient =
        TestInbox.of(orders)
            .with(it -> it.codec(new RecordCodec()))
            .with(it -> it.retry(RetryPolicy.defaults().maxAttempts(1)));
    impatient.receive("m-1", new OrderPlaced("o-1"));
    impatient.drain();
    assertThat(impatient).delivery("m-1", "send-receipt").isPoisoned();
    assertThatIllegalStateException().isThrownBy(() -> impatient.with(it -> it));
  }

  @Test
  void severalChannelsAreNamed() {
    Channel a = Channel.named("a").on(String.class).handle("a", text -> {}).build();
    Channel b = Channel.named("b").on(String.class).handle("b", text -> {}).build();
    TestInbox both = TestInbox.of(a, b);
    assertThatIllegalStateException().isThrownBy(() -> both.receive("m-1", "x"));
    assertThat(both.receive("b", Message.of("m-1", "x"))).isInstanceOf(Acceptance.Accepted.class);
    both.receive("a", Message.of("m-1", "x"));
    both.drain();
    fails("Several messages have the id 'm-1'", () -> assertThat(both).delivery("m-1", "b"));
    assertThat(both).delivery("b", "m-1", "b").isCompleted();
    assertThat(both).delivery("b", "m-1", "a").wasNotDelivered();
  }

  @Test
  void aRunningInboxIsWaitedFor() {
    try (TestInbox running = inbox.start()) {
      running.receive("m-1", new OrderPlaced("o-1"));
      running.await("m-1", "send-receipt", DeliveryState.COMPLETED).awaitDrained();
    }
    assertThat(inbox).isDrained();
  }

  @Test
  void waitingInVainShowsEveryDelivery() {
    inbox.receive("m-1", new OrderPlaced("o-1"));
    assertThatExceptionOfType(AssertionError.class)
        .isThrownBy(
            () -> inbox.patience(ofMillis(1)).await("m-1", "send-receipt", DeliveryState.COMPLETED))
        .withMessageContaining(
            "in vain for the delivery of 'm-1' to 'send-receipt' to be COMPLETED")
        .withMessageContaining("orders/m-1 to send-receipt: PENDING, 0 failures");
  }

  @Test
  void advancingWakesARunningInbox() {
    failures.set(1);
    try (TestInbox running = inbox.with(it -> it.polling(ofSeconds(3600), ofSeconds(3600)))) {
      running.start().receive("m-1", new OrderPlaced("o-1"));
      running.await("m-1", "send-receipt", DeliveryState.SCHEDULED);
      running.advance(ofSeconds(2)).await("m-1", "send-receipt", DeliveryState.COMPLETED);
    }
  }

  @RegisterExtension
  final TestInboxExtension inboxes =
      TestInboxExtension.of(() -> TestInbox.of(orders).with(it -> it.codec(new RecordCodec())))
          .leavingNothingOpen();

  @Test
  void theExtensionHandsOutAnInbox(TestInbox own) {
    own.receive("m-1", new OrderPlaced("o-1"));
    own.drain();
    assertThat(own).isDrained();
    assertThat(own.deliveries()).hasSize(2);
  }

  @Test
  void theExtensionFailsATestThatLeavesWorkUndone() {
    TestInboxExtension extension = TestInboxExtension.of(() -> inbox).leavingNothingOpen();
    ExtensionContext passed = context(Optional.empty());
    extension.beforeEach(passed);
    inbox.receive("m-1", new OrderPlaced("o-1"));
    fails("leaves work undone", () -> extension.afterEach(passed));

    ExtensionContext failed = context(Optional.of(new IllegalStateException("first")));
    extension.beforeEach(failed);
    extension.afterEach(failed);

    TestInboxExtension lenient = TestInboxExtension.of(() -> inbox);
    lenient.beforeEach(passed);
    lenient.afterEach(passed);
  }

  private static ExtensionContext context(Optional<Throwable> outcome) {
    List<Object> kept = new ArrayList<>();
    Object store =
        Proxy.newProxyInstance(
            TestInboxTest.class.getClassLoader(),
            new Class<?>[] {ExtensionContext.Store.class},
            (proxy, method, arguments) -> {
              if (method.getName().equals("put")) {
                kept.add(arguments[1]);
                return null;
              }
              return kept.get(kept.size() - 1);
            });
    return (ExtensionContext)
        Proxy.newProxyInstance(
            TestInboxTest.class.getClassLoader(),
            new Class<?>[] {ExtensionContext.class},
            (proxy, method, arguments) -> method.getName().equals("getStore") ? store : outcome);
  }

  @Test
  void neitherJunitNorAssertjIsNeeded() throws Exception {
    ClassLoader without =
        new ClassLoader(ClassLoader.getPlatformClassLoader()) {
          @Override
          protected Class<?> findClass(String name) throws ClassNotFoundException {
            if (!name.startsWith("dev.pigeonhole.") && !name.startsWith("org.slf4j.")) {
              throw new ClassNotFoundException(name);
            }
            String file = name.replace('.', '/') + ".class";
            try (var in = TestInboxTest.class.getClassLoader().getResourceAsStream(file)) {
              if (in == null) {
                throw new ClassNotFoundException(name);
              }
              byte[] bytes = in.readAllBytes();
              return defineClass(name, bytes, 0, bytes.length);
            } catch (java.io.IOException e) {
              throw new ClassNotFoundException(name, e);
            }
          }
        };
    Class<?> bare = without.loadClass(Bare.class.getName());
    assertThat(bare.getClassLoader()).isSameAs(without);
    var constructor = bare.getDeclaredConstructor();
    constructor.setAccessible(true);
    Thread.currentThread().setContextClassLoader(without);
    try {
      assertThat(constructor.newInstance()).hasToString("handled 1");
    } finally {
      Thread.currentThread().setContextClassLoader(TestInboxTest.class.getClassLoader());
    }
  }

  /** Runs where there is nothing but the library. */
  static final class Bare {
    private final int handled;

    Bare() {
      Channel texts = Channel.named("texts").on(String.class).handle("a", text -> {}).build();
      TestInbox inbox = TestInbox.of(texts);
      inbox.receive("m-1", "x");
      handled = inbox.drain();
    }

    @Override
    public String toString() {
      return "handled " + handled;
    }
  }
}
