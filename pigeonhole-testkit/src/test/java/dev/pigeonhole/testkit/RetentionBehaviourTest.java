package dev.pigeonhole.testkit;

import static dev.pigeonhole.HandlerOption.keepingPayload;
import static dev.pigeonhole.HandlerOption.keepingReceipts;
import static dev.pigeonhole.HandlerOption.retrying;
import static dev.pigeonhole.testkit.TestInboxAssertions.assertThat;
import static java.time.Duration.ofDays;
import static java.time.Duration.ofHours;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.pigeonhole.Acceptance;
import dev.pigeonhole.Channel;
import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.PrunedMessage;
import dev.pigeonhole.RetryPolicy;
import dev.pigeonhole.event.InboxEvent;
import dev.pigeonhole.store.StoredMessage;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What is forgotten, and when. */
@Timeout(600)
class RetentionBehaviourTest {
  private final TestClock clock = new TestClock();
  private final MemoryStore store = MemoryStore.create().clock(clock);
  private final Recorder events = new Recorder();
  private final List<String> handled = new ArrayList<>();

  private Channel channel() {
    return Channel.named("c").on(String.class).handle("h", handled::add).build();
  }

  private TestInbox inbox(Channel channel) {
    return TestInbox.on(store, clock, channel)
        .with(it -> it.listener(events))
        .patience(ofMinutes(3));
  }

  private long messages() {
    return store.admin().messages();
  }

  private List<String> withContent() {
    return store.tables().messages.values().stream()
        .map(MessageRow::stored)
        .filter(message -> message.content() != null)
        .map(StoredMessage::id)
        .toList();
  }

  @Test
  void b66_nothingIsForgottenUnlessAskedFor() {
    TestInbox inbox = inbox(channel());
    inbox.receive("m", "x");
    inbox.drain();
    clock.advance(ofDays(36_000));
    inbox.drain();
    assertThat(messages()).isEqualTo(1);
  }

  @Test
  void b65_aMessageIsKnownForItsTimeAndThenNew() {
    TestInbox inbox = inbox(channel()).with(it -> it.keepReceipts(ofDays(30)));
    inbox.receive("m", "x");
    clock.advance(ofDays(10)); // from its completion, not from its receipt
    inbox.drain();
    clock.advance(ofDays(30).minusSeconds(1));
    inbox.drain();
    assertThat(inbox.receive("m", "x")).isInstanceOf(Acceptance.Repeat.class);

    clock.advance(ofHours(3));
    inbox.drain();
    assertThat(messages()).isZero();
    assertThat(events.of(InboxEvent.Pruned.class))
        .containsExactly(new InboxEvent.Pruned("inbox", 1, 0));
    assertThat(inbox.receive("m", "x")).isInstanceOf(Acceptance.Accepted.class);
    inbox.drain();
    assertThat(handled).containsExactly("x", "x");
  }

  @Test
  void aRunningInboxForgetsByItself() {
    TestInbox inbox =
        inbox(channel())
            .with(it -> it.keepReceipts(ofSeconds(5)).beat(ofMillis(20)).deadAfter(ofSeconds(60)));
    try {
      inbox.start();
      for (int i = 0; i < 1_200; i++) {
        inbox.receive("m" + i, "x");
      }
      inbox.awaitDrained();
      inbox.advance(ofSeconds(10));
      inbox.await("all to be forgotten", () -> messages() == 0);
    } finally {
      inbox.close();
    }
  }

  @Test
  void theLongestTimeOfItsHandlersAndItsTypeDecides() {
    Channel channel =
        Channel.named("c")
            .on(String.class)
            .keepReceipts(ofDays(2))
            .handle("short", handled::add, keepingReceipts(ofDays(1)))
            .handle("long", handled::add, keepingReceipts(ofDays(5)))
            .build();
    TestInbox inbox = inbox(channel).with(it -> it.keepReceipts(ofDays(300)));
    inbox.receive("m", "x");
    inbox.drain();
    clock.advance(ofDays(4));
    inbox.drain();
    assertThat(messages()).isEqualTo(1);
    clock.advance(ofDays(2));
    inbox.drain();
    assertThat(messages()).isZero();
  }

  @Test
  void hd05_d166_poisonOutlivesEverythingUnlessAskedOtherwise() {
    Channel channel =
        Channel.named("c")
            .on(String.class)
            .handle(
                "h",
                text -> {
                  throw new IllegalStateException("no");
                },
                retrying(RetryPolicy.defaults().maxAttempts(1)))
            .handle("other", handled::add)
            .build();
    TestInbox inbox = inbox(channel).with(it -> it.keepReceipts(ofDays(1)).keepPayload(ofHours(1)));
    inbox.receive("m", "x");
    inbox.drain();
    clock.advance(ofDays(1_000));
    inbox.drain();
    assertThat(inbox).delivery("m", "h").isPoisonedWith(ErrorCode.HANDLER_FAILED);

    TestInbox forgetful =
        inbox(channel).with(it -> it.keepReceipts(ofDays(1)).keepPoisoned(ofDays(30)));
    clock.advance(ofDays(1)); // or it would be too early for another walk
    forgetful.drain();
    assertThat(messages()).isZero();
    assertThat(store.tables().audit).extracting(Tables.AuditRow::action).containsExactly("delete");
  }

  @Test
  void aTypeAndAHandlerCanKeepContentLongerOrShorterThanTheInbox() {
    Channel channel =
        Channel.named("c")
            .on(String.class)
            .handle("brief", handled::add)
            .handle("thorough", handled::add, keepingPayload(ofDays(5)))
            .on(byte[].class)
            .keepPayload(ofHours(1))
            .handle("bytes", bytes -> {})
            .build();
    TestInbox inbox = inbox(channel).with(it -> it.keepPayload(ofDays(30)));
    inbox.receive("text", "x");
    inbox.receive("bytes", new byte[1]);
    inbox.drain();
    clock.advance(ofHours(2));
    inbox.drain();
    assertThat(withContent()).containsExactly("text");
    clock.advance(ofDays(6)); // enough for one handler, and the other goes by the inbox
    inbox.drain();
    assertThat(withContent()).containsExactly("text");
    clock.advance(ofDays(30));
    inbox.drain();
    assertThat(withContent()).isEmpty();
    assertThat(messages()).isEqualTo(2);
  }

  @Test
  void contentCanGoEarlierThanTheMemoryOfIt() {
    TestInbox inbox =
        inbox(channel()).with(it -> it.keepReceipts(ofDays(30)).keepPayload(ofDays(1)));
    inbox.receive("m", "x");
    inbox.drain();
    clock.advance(ofDays(2));
    inbox.drain();

    assertThat(events.of(InboxEvent.Pruned.class))
        .containsExactly(new InboxEvent.Pruned("inbox", 0, 1));
    assertThat(inbox.receive("m", "x")).isInstanceOf(Acceptance.Repeat.class);
    assertThat(inbox.receive("m", "y")).isInstanceOf(Acceptance.Conflict.class);
    // A handler that comes later has nothing to read.
    TestInbox next =
        inbox(Channel.named("c").on(String.class).handle("late", handled::add).build());
    next.receive("m", "x");
    next.drain();
    assertThat(next).delivery("m", "late").isPoisonedWith(ErrorCode.PAYLOAD_DROPPED);
  }

  @Test
  void whatIsDeletedCanBePutElsewhereFirst() {
    List<PrunedMessage> archive = new ArrayList<>();
    TestInbox inbox =
        inbox(channel()).with(it -> it.keepReceipts(ofDays(1)).pruneListener(archive::addAll));
    inbox.receive("m", "x");
    inbox.drain();
    clock.advance(ofDays(2));
    inbox.drain();

    assertThat(archive)
        .singleElement()
        .satisfies(
            it -> {
              assertThat(it.message().id()).isEqualTo("m");
              assertThat(it.channel()).isEqualTo("c");
              assertThat(it.content()).contains("x".getBytes(StandardCharsets.UTF_8));
            });
    assertThat(messages()).isZero();
  }

  @Test
  void whatCannotBePutElsewhereIsKept() {
    TestInbox inbox =
        inbox(channel())
            .with(
                it ->
                    it.keepReceipts(ofDays(1))
                        .pruneListener(
                            messages -> {
                              throw new IOException("disk is full");
                            }));
    inbox.receive("m", "x");
    inbox.drain();
    clock.advance(ofDays(2));
    inbox.drain();
    assertThat(messages()).isEqualTo(1);
  }

  @ParameterizedTest
  @ValueSource(strings = {"PT0S", "PT-1S", "PT0.5S", "P365250D"})
  void d165_aTimeThatMakesNoSenseIsRefused(Duration time) {
    assertThatThrownBy(() -> inbox(channel()).with(it -> it.keepReceipts(time)).inbox())
        .isInstanceOf(ConfigurationException.class)
        .hasMessageContaining("PH-RET-01")
        .hasMessageContaining("keepReceipts");
    assertThatThrownBy(
            () ->
                inbox(
                        Channel.named("c")
                            .on(String.class)
                            .keepReceipts(time)
                            .keepPayload(time)
                            .handle("h", handled::add, keepingReceipts(time), keepingPayload(time))
                            .build())
                    .inbox())
        .hasMessageContaining("Handler 'h' keeps receipts for")
        .hasMessageContaining("Handler 'h' keeps the payload for")
        .hasMessageContaining("java.lang.String of channel 'c' keeps receipts for")
        .hasMessageContaining("java.lang.String of channel 'c' keeps the payload for");
  }

  @Test
  void poisonIsKeptForAMonthAtLeast() {
    assertThatThrownBy(() -> inbox(channel()).with(it -> it.keepPoisoned(ofDays(29))).inbox())
        .hasMessageContaining("PH-RET-01");
  }

  @Test
  void b69_whatOneHandlerHasDoneStaysDoneWhileAnotherIsPoisoned() {
    Channel channel =
        Channel.named("c")
            .on(String.class)
            .handle("done", handled::add)
            .handle(
                "poisoned",
                text -> {
                  throw new IllegalStateException("no");
                },
                retrying(RetryPolicy.defaults().maxAttempts(1)))
            .build();
    TestInbox inbox = inbox(channel).with(it -> it.keepReceipts(ofDays(1)));
    inbox.receive("m", "x");
    inbox.drain();
    clock.advance(ofDays(100));
    inbox.drain();

    assertThat(inbox.receive("m", "x")).isInstanceOf(Acceptance.Repeat.class);
    inbox.drain();
    assertThat(handled).containsExactly("x");
    assertThat(inbox).delivery("m", "poisoned").isPoisonedWith(ErrorCode.HANDLER_FAILED);
  }
}
