package dev.pigeonhole.testkit;

import static dev.pigeonhole.HandlerOption.atMost;
import static dev.pigeonhole.HandlerOption.inline;
import static dev.pigeonhole.HandlerOption.sharedCommits;
import static dev.pigeonhole.HandlerOption.within;
import static dev.pigeonhole.testkit.TestInboxAssertions.assertThat;
import static java.time.Duration.ZERO;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.pigeonhole.Acceptance;
import dev.pigeonhole.Channel;
import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.Guard;
import dev.pigeonhole.HandlerKey;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.InboxBuilder;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.Message;
import dev.pigeonhole.RetryPolicy;
import dev.pigeonhole.TypeBuilder;
import dev.pigeonhole.admin.InboxAdmin;
import dev.pigeonhole.event.InboxEvent;
import java.util.ArrayList;
import java.util.List;
import java.util.function.UnaryOperator;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;

/** Handler keys through their lives, and everything that refuses to start. */
class KeyBehaviourTest {
  record Order(String id) {}

  private final List<String> ran = new ArrayList<>();
  private final TestClock clock = new TestClock();
  private final MemoryStore store = MemoryStore.create().clock(clock);
  private final Recorder events = new Recorder();

  private static TypeBuilder<String> texts(String channel) {
    return Channel.named(channel).on(String.class);
  }

  private TestInbox version(HandlerKey key) {
    Channel channel =
        texts("c").handleMessage(key, received -> ran.add(received.handler())).build();
    return TestInbox.on(store, clock, channel).with(it -> it.listener(events));
  }

  // ---- refusing to start

  @Test
  void b24_aHandlerWithoutKeyRefusesToStart() {
    refuses(
        ErrorCode.HANDLER_KEY_MISSING,
        "A handler of channel 'c' on",
        texts("c").handle(" ", x -> {}));
    refuses(ErrorCode.HANDLER_KEY_MISSING, "has no key", texts("c").handle("", x -> {}));
  }

  @Test
  void b25_aKeyOfTwoChannelsRefusesToStartAndIsNamed() {
    assertThat(
            problem(
                it ->
                    it.channel(texts("c").handle("mail", x -> {}).build())
                        .channel(texts("d").handle("mail", x -> {}).build())))
        .satisfies(
            problem -> {
              assertThat(problem.code()).isEqualTo(ErrorCode.HANDLER_KEY_TWICE);
              assertThat(problem.text())
                  .contains("Handler key 'mail' of channel 'd'")
                  .contains("already declared by channel 'c'");
            });
  }

  @Test
  void b26_aFormerKeyThatSomebodyHasRefusesToStart() {
    HandlerKey renamed = HandlerKey.of("new").formerly("old");
    refuses(
        ErrorCode.FORMER_KEY_TAKEN,
        "'old'",
        texts("c").handle(renamed, x -> {}).handle("old", x -> {}));
    refuses(
        ErrorCode.FORMER_KEY_TAKEN,
        "Former key 'old'",
        texts("c").handle(renamed, x -> {}).handle(HandlerKey.of("b").formerly("old"), x -> {}));
    refuses(
        ErrorCode.FORMER_KEY_TAKEN,
        "Former key 'a'",
        texts("c").handle(HandlerKey.of("a").formerly("a"), x -> {}));
  }

  @Test
  @SuppressWarnings("NullAway") // what careless callers do
  void aHandlerThatIsNotThereIsRefusedWhereItIsDeclared() {
    TypeBuilder<String> type = texts("c");
    assertThatThrownBy(() -> type.handle("a", null)).hasMessage("handler");
    assertThatThrownBy(() -> type.handleMessage("a", null)).hasMessage("handler");
    assertThatThrownBy(() -> type.handleInTransaction("a", null)).hasMessage("handler");
  }

  @Test
  void namesThatCannotBeToldApartOrStoredRefuseToStart() {
    refuses(
        ErrorCode.HANDLER_KEYS_DIFFER_BY_CASE,
        "differ only by case",
        texts("c").handle("mail", x -> {}).handle("Mail", x -> {}));
    refuses(
        ErrorCode.NAME_INVALID,
        "handler key 'a b' of channel 'c'",
        texts("c").handle("a b", x -> {}));
    refuses(ErrorCode.NAME_INVALID, "handler key", texts("c").handle("x".repeat(201), x -> {}));
    refuses(ErrorCode.NAME_INVALID, "channel 'a/b'", texts("a/b").handle("a", x -> {}));
    refuses(
        ErrorCode.NAME_INVALID,
        "inbox ''",
        it -> it.named("").channel(texts("c").handle("a", x -> {}).build()));
    refuses(
        ErrorCode.TYPE_NAME_TAKEN,
        "stands for",
        Channel.named("c")
            .on(String.class)
            .named("x")
            .handle("a", x -> {})
            .on(byte[].class)
            .named("x")
            .handle("b", x -> {}));
    refuses(ErrorCode.NAME_INVALID, "Type name", texts("c").named(" ").handle("a", x -> {}));
  }

  @Test
  void d81_v8_whereNothingCommitsWithAReceiptInlineHandlersAndGuardsRefuseToStart() {
    refuses(ErrorCode.TX_UNSUPPORTED, "'a' is inline", texts("c").handle("a", x -> {}, inline()));
    assertThatThrownBy(() -> Guard.on(store).build())
        .isInstanceOfSatisfying(
            ConfigurationException.class,
            e -> assertThat(e.code()).isEqualTo(ErrorCode.TX_UNSUPPORTED))
        .hasMessageContaining("LeaseGuard");
  }

  @Test
  void whatAnInboxCannotDoRefusesToStart() {
    refuses(
        ErrorCode.OPTION_NOT_APPLICABLE,
        "is direct",
        Channel.named("c").direct().on(String.class).handle("a", x -> {}));
    refuses(
        ErrorCode.TX_UNSUPPORTED,
        "'a' is transactional",
        texts("c").handleInTransaction("a", (x, tx) -> {}));
    refuses(
        ErrorCode.OPTION_NOT_APPLICABLE,
        "sharedCommits but no transaction",
        texts("c").handle("a", x -> {}, sharedCommits(2)));
    refuses(
        ErrorCode.PAYLOAD_TYPE_REFUSED,
        "no codec for",
        Channel.named("c").on(Order.class).handle("a", x -> {}));
    refuses(
        ErrorCode.TIMEOUT_INVALID, "timeout PT0S", texts("c").handle("a", x -> {}, within(ZERO)));
    refuses(ErrorCode.RANGE_INVALID, "atMost(0)", texts("c").handle("a", x -> {}, atMost(0)));
    refuses(ErrorCode.NOTHING_CONFIGURED, "has no channel", it -> it);
    refuses(
        ErrorCode.CHANNEL_TWICE,
        "added twice",
        it ->
            it.channel(texts("c").handle("a", x -> {}).build())
                .channel(texts("c").handle("b", x -> {}).build()));
  }

  @Test
  void numbersOutOfRangeRefuseToStart() {
    Channel channel = texts("c").handle("a", x -> {}).build();
    refuses(
        ErrorCode.BEAT_INVALID,
        "Raise deadAfter to PT6S",
        it -> it.channel(channel).beat(ofSeconds(2)).deadAfter(ofSeconds(5)));
    refuses(ErrorCode.RANGE_INVALID, "lanes is 0", it -> it.channel(channel).lanes(0));
    refuses(ErrorCode.RANGE_INVALID, "concurrency", it -> it.channel(channel).concurrency(0));
    refuses(ErrorCode.RANGE_INVALID, "batchSize", it -> it.channel(channel).batchSize(0));
    refuses(ErrorCode.RANGE_INVALID, "maxCrashes", it -> it.channel(channel).maxCrashes(0));
    refuses(
        ErrorCode.RANGE_INVALID,
        "goes down",
        it -> it.channel(channel).polling(ofSeconds(2), ofSeconds(1)));
    refuses(
        ErrorCode.RANGE_INVALID, "stopGrace", it -> it.channel(channel).stopGrace(ofSeconds(-1)));
    assertThatThrownBy(() -> RetryPolicy.defaults().maxAttempts(0))
        .hasMessageContaining(ErrorCode.ATTEMPTS_INVALID.text())
        .hasMessageContaining("use 1");
    assertThatThrownBy(() -> RetryPolicy.fixed(ZERO))
        .hasMessageContaining(ErrorCode.BACKOFF_INVALID.text());
    assertThatThrownBy(() -> RetryPolicy.exponential(ofSeconds(9)).cappedAt(ofSeconds(3)))
        .hasMessageContaining(ErrorCode.BACKOFF_INVALID.text());
  }

  @Test
  void allProblemsAreToldTogether() {
    assertThatThrownBy(
            () ->
                Inbox.on(store)
                    .channel(
                        texts("a b").handle("", x -> {}).handle("k", x -> {}, atMost(0)).build())
                    .lanes(0)
                    .build())
        .isInstanceOfSatisfying(
            ConfigurationException.class,
            e ->
                assertThat(e.problems())
                    .extracting(ConfigurationException.Problem::code)
                    .containsExactlyInAnyOrder(
                        ErrorCode.RANGE_INVALID,
                        ErrorCode.NAME_INVALID,
                        ErrorCode.HANDLER_KEY_MISSING,
                        ErrorCode.RANGE_INVALID))
        .hasMessageContaining("and 3 more");
    assertThat(store.maintenance().handlers()).isEmpty();
  }

  // ---- renaming

  @Test
  void b27_b28_anOldRowRunsUnderItsKeyAndNewOnesGetTheNewKey() {
    TestInbox old = version(HandlerKey.of("v1"));
    old.receive("m1", "x");

    TestInbox renamed = version(HandlerKey.of("v2").formerly("v1"));
    renamed.receive("m2", "x");
    assertThat(renamed.drain()).isEqualTo(2);

    assertThat(ran).containsExactlyInAnyOrder("v1", "v2");
    assertThat(old).delivery("m1", "v1").isCompleted().hasKey("v1");
    assertThat(renamed).delivery("m2", "v2").isCompleted().hasKey("v2");
    assertThat(renamed.inbox().admin().drainCheck("v1").drained()).isTrue();
  }

  @Test
  void aKeyThatWasNeverRegisteredIsASlipAndNoEmptyAnswer() {
    InboxAdmin admin = version(HandlerKey.of("send-receipt").formerly("mailer")).inbox().admin();

    for (ThrowingCallable ask :
        List.<ThrowingCallable>of(
            () -> admin.drainCheck("send-reciept"),
            () -> admin.find("c", "m", "sendReceipt"),
            () -> admin.poisoned("send-receip", 10),
            () -> admin.retry("c", "m", "Send-Receipt", "mended"))) {
      assertThatThrownBy(ask)
          .hasMessageContaining("'send-receipt'")
          .isInstanceOfSatisfying(
              InboxException.class,
              e -> assertThat(e.code()).isEqualTo(ErrorCode.HANDLER_KEY_UNKNOWN));
    }
    assertThatThrownBy(() -> admin.drainCheck("ship"))
        .hasMessageContaining("'ship'")
        .hasMessageContaining("send-receipt, mailer");
    assertThat(admin.drainCheck("mailer").drained()).isTrue();
  }

  @Test
  void b29_whatWasHandledUnderTheOldKeyIsNotHandledUnderTheNew() {
    TestInbox old = version(HandlerKey.of("v1"));
    old.receive("m", "x");
    old.drain();

    TestInbox renamed = version(HandlerKey.of("v2").formerly("v1"));
    assertThat(renamed.receive("m", "x")).isInstanceOf(Acceptance.Repeat.class);
    assertThat(renamed.drain()).isZero();
    assertThat(ran).containsExactly("v1");
  }

  @Test
  void b30_threeGenerationsAreUnderstood() {
    version(HandlerKey.of("v1")).receive("m1", "x");
    version(HandlerKey.of("v2").formerly("v1")).receive("m2", "x");
    TestInbox third = version(HandlerKey.of("v3").formerly("v2", "v1"));
    third.receive("m3", "x");
    third.drain();
    assertThat(ran).containsExactlyInAnyOrder("v1", "v2", "v3");
  }

  @Test
  void b30_keysThatWereOnceTwoHandlersCanBecomeOne() {
    version(HandlerKey.of("v1")).receive("m1", "x");
    version(HandlerKey.of("v2")).receive("m2", "x");
    TestInbox third = version(HandlerKey.of("v3").formerly("v2", "v1"));
    third.drain();
    assertThat(ran).containsExactlyInAnyOrder("v1", "v2");
    assertThat(third).isDrained();
  }

  // ---- unknown keys

  @Test
  void b31_withoutGraceAnUnknownKeyIsPoisonedAtOnce() {
    TestInbox old = version(HandlerKey.of("gone"));
    old.receive("m", "x");

    TestInbox other = version(HandlerKey.of("here")).with(it -> it.holdUnknownKeys(ZERO));
    assertThat(other.drain()).isZero();

    assertThat(old)
        .delivery("m", "gone")
        .isPoisonedWith(ErrorCode.HANDLER_KEY_UNKNOWN)
        .hasFailedTimes(0)
        .failedWithMessage("'gone'");
    assertThat(ran).isEmpty();
  }

  @Test
  void b31_anUnknownKeyIsPoisonedThoughAllItsDeliveriesHaveAPriority() {
    TestInbox old = version(HandlerKey.of("gone"));
    old.receive("c", Message.of("m", "x").priority(9));

    version(HandlerKey.of("here")).with(it -> it.holdUnknownKeys(ZERO)).drain();

    assertThat(old).delivery("m", "gone").isPoisonedWith(ErrorCode.HANDLER_KEY_UNKNOWN);
  }

  @Test
  void b31_listenersAreToldOnceOfAllDeliveriesOfAnUnknownKey() {
    TestInbox old = version(HandlerKey.of("gone"));
    old.receive("m1", "x");
    old.receive("m2", "x");

    TestInbox other = version(HandlerKey.of("here")).with(it -> it.holdUnknownKeys(ZERO));
    other.drain();

    assertThat(events.of(InboxEvent.PoisonedUnknown.class))
        .singleElement()
        .satisfies(
            event -> {
              assertThat(event.handlers()).containsExactly("gone");
              assertThat(event.deliveries()).isEqualTo(2);
              assertThat(event.failure().code()).isEqualTo(ErrorCode.HANDLER_KEY_UNKNOWN);
            });
    assertThat(events.heard(InboxEvent.Poisoned.class)).isFalse();
  }

  @Test
  void b31_d32_anUnknownKeyIsHeldForItsGrace() {
    TestInbox old = version(HandlerKey.of("gone"));
    old.receive("m", "x");
    TestInbox other = version(HandlerKey.of("here"));

    drainFor(other, ofMinutes(9));
    assertThat(old).delivery("m", "gone").isPending().hasFailedTimes(0);
    drainFor(other, ofMinutes(2));
    assertThat(old).delivery("m", "gone").isPoisonedWith(ErrorCode.HANDLER_KEY_UNKNOWN);
  }

  @Test
  void hd12_aKeyThatComesBackInTimeRunsAndItsGraceBeginsAnew() {
    TestInbox old = version(HandlerKey.of("gone"));
    old.receive("m1", "x");
    TestInbox other = version(HandlerKey.of("here"));
    drainFor(other, ofMinutes(9));
    old.drain();
    assertThat(old).delivery("m1", "gone").isCompleted();

    old.receive("m2", "x");
    drainFor(other, ofMinutes(9));
    assertThat(old).delivery("m2", "gone").isPending();
  }

  @Test
  void b31_aPoisonedUnknownKeyCanBeRetriedOnceItIsKnown() {
    TestInbox old = version(HandlerKey.of("gone"));
    old.receive("m", "x");
    version(HandlerKey.of("here")).with(it -> it.holdUnknownKeys(ZERO)).drain();
    assertThat(old).delivery("m", "gone").isPoisoned();

    old.inbox().admin().retry("c", "m", "gone", "deployed again");
    old.drain();
    assertThat(old).delivery("m", "gone").isCompleted();
    assertThat(events.heard(InboxEvent.Completed.class)).isTrue();
  }

  private static void drainFor(TestInbox inbox, java.time.Duration time) {
    for (long seconds = 0; seconds < time.toSeconds(); seconds += 4) {
      inbox.advance(ofSeconds(4)).drain();
    }
  }

  private ConfigurationException.Problem problem(UnaryOperator<InboxBuilder> options) {
    try {
      options.apply(Inbox.on(store)).build();
    } catch (ConfigurationException e) {
      return e.problems().get(0);
    }
    throw new AssertionError("started");
  }

  private void refuses(ErrorCode code, String text, TypeBuilder<?> channel) {
    refuses(code, text, it -> it.channel(channel.build()));
  }

  private void refuses(ErrorCode code, String text, UnaryOperator<InboxBuilder> options) {
    ConfigurationException.Problem problem = problem(options);
    assertThat(problem.code()).isEqualTo(code);
    assertThat(problem.text()).contains(text);
  }
}
