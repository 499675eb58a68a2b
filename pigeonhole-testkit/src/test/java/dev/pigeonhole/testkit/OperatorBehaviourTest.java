package dev.pigeonhole.testkit;

import static dev.pigeonhole.HandlerOption.retrying;
import static dev.pigeonhole.testkit.TestInboxAssertions.assertThat;
import static java.nio.charset.StandardCharsets.UTF_8;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.pigeonhole.Channel;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.HandlerKey;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.Message;
import dev.pigeonhole.RetryPolicy;
import dev.pigeonhole.admin.AuditEntry;
import dev.pigeonhole.admin.BulkChange;
import dev.pigeonhole.admin.ChangePreview;
import dev.pigeonhole.admin.ChangeResult;
import dev.pigeonhole.admin.Content;
import dev.pigeonhole.admin.Count;
import dev.pigeonhole.admin.DeliverySelection;
import dev.pigeonhole.admin.DeliveryState;
import dev.pigeonhole.admin.DeliveryView;
import dev.pigeonhole.admin.FailureGroup;
import dev.pigeonhole.admin.HandlerCounts;
import dev.pigeonhole.admin.InboxAdmin;
import dev.pigeonhole.admin.LaneView;
import dev.pigeonhole.admin.MessageDetail;
import dev.pigeonhole.admin.MessageView;
import dev.pigeonhole.admin.NodeView;
import dev.pigeonhole.admin.Page;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicBoolean;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What an operator sees of an inbox, and does to one or to many. */
@Timeout(600)
class OperatorBehaviourTest {
  private final MemoryStore store = MemoryStore.create();
  private final TestClock clock = new TestClock();
  private final List<String> handled = new CopyOnWriteArrayList<>();
  private final AtomicBoolean down = new AtomicBoolean(true);

  private Channel mail() {
    return Channel.named("c")
        .on(String.class)
        .named("text")
        .handle(
            "mail",
            text -> {
              if (down.get()) {
                throw new IllegalStateException("no mail server for " + text);
              }
              handled.add(text);
            },
            retrying(RetryPolicy.fixed(ofSeconds(1)).maxAttempts(1)))
        .handle("stock", text -> {})
        .build();
  }

  private TestInbox inbox() {
    store.clock(clock);
    return TestInbox.on(store, clock, mail());
  }

  private static InboxAdmin admin(TestInbox inbox) {
    return inbox.inbox().admin().as("ada");
  }

  private TestInbox poisoned(int messages) {
    TestInbox inbox = inbox();
    for (int i = 0; i < messages; i++) {
      inbox.receive("m-" + i, "text " + i);
    }
    inbox.drain();
    return inbox;
  }

  private static void refused(ErrorCode code, ThrowingCallable call) {
    assertThatThrownBy(call)
        .isInstanceOfSatisfying(
            InboxException.class, thrown -> assertThat(thrown.code()).isEqualTo(code));
  }

  @Test
  void op06_manyAreRetriedByWhatTheyHaveInCommonAfterAPreview() {
    TestInbox inbox = poisoned(250);
    InboxAdmin admin = admin(inbox);
    FailureGroup group = admin.deliveries().handler("mail").failureGroups().get(0);
    assertThat(group.deliveries()).isEqualTo(Count.of(250));
    assertThat(group.type()).isEqualTo("java.lang.IllegalStateException");
    assertThat(group.sample()).startsWith("no mail server for text");
    assertThat(group.handlers()).containsExactly("mail");
    down.set(false);

    BulkChange retry =
        admin
            .deliveries()
            .poisoned()
            .handler("mail")
            .failedWith(group.fingerprint())
            .retry("mail server is back")
            .operation("incident-17");
    ChangePreview preview = retry.dryRun();
    assertThat(preview.chosen()).isEqualTo(Count.of(250));
    assertThat(preview.sample()).hasSize(10);
    assertThat(preview.sample().get(0).id()).isEqualTo("m-0");
    assertThat(inbox.drain()).isZero();

    assertThat(retry.run()).isEqualTo(new ChangeResult("incident-17", 250, 250, Map.of(), true));
    inbox.drain();
    assertThat(handled).hasSize(250);
    assertThat(admin.deliveries().poisoned().count()).isEqualTo(Count.of(0));
    assertThat(admin.audit(1_000)).hasSize(250).extracting(AuditEntry::by).containsOnly("ada");
  }

  @Test
  void aFinishedOperationOnlyTellsWhatCameOfIt() {
    TestInbox inbox = poisoned(3);
    BulkChange discard =
        admin(inbox).deliveries().handler("mail").discard("not worth it").operation("op");
    ChangeResult first = discard.run();
    inbox.receive("late", "late");
    inbox.drain();

    assertThat(discard.run()).isEqualTo(first);
    assertThat(admin(inbox).operation("op")).contains(first);
    assertThat(admin(inbox).operation("other")).isEmpty();
    assertThat(inbox).delivery("late", "mail").isPoisoned();
    refused(
        ErrorCode.OPERATION_TAKEN,
        () -> admin(inbox).deliveries().handler("mail").retry("x").operation("op").run());
    refused(
        ErrorCode.OPERATION_TAKEN,
        () -> admin(inbox).deliveries().type("text").discard("x").operation("op").run());
  }

  @Test
  void aChangeThatWasCutGoesOnWhereItEnded() {
    TestInbox inbox = poisoned(120);
    down.set(false);
    BulkChange slowly =
        admin(inbox).deliveries().handler("mail").retry("back").operation("op").perSecond(50);
    Thread.currentThread().interrupt(); // it takes no step at all
    ChangeResult cut = slowly.run();
    assertThat(Thread.interrupted()).isTrue();
    assertThat(cut.finished()).isFalse();
    assertThat(cut.changed()).isZero();

    ChangeResult rest =
        admin(inbox).deliveries().handler("mail").retry("back").operation("op").run();
    assertThat(rest.finished()).isTrue();
    assertThat(rest.changed()).isEqualTo(120);
  }

  @Test
  void op06_aChangeWithoutNarrowingOrWithTooManyIsRefused() {
    TestInbox inbox = poisoned(5);
    InboxAdmin admin = admin(inbox);

    refused(ErrorCode.SELECTION_INVALID, () -> admin.deliveries().poisoned().retry("x").run());
    refused(ErrorCode.SELECTION_INVALID, () -> admin.deliveries().retry("x").dryRun());
    refused(ErrorCode.SELECTION_INVALID, () -> admin.messages().purge("x").run());
    refused(
        ErrorCode.SELECTION_INVALID,
        () -> admin.deliveries().completed().handler("mail").retry("x"));
    refused(
        ErrorCode.CHANGE_TOO_LARGE,
        () -> admin.deliveries().handler("mail").retry("x").atMost(4).run());
    refused(ErrorCode.RANGE_INVALID, () -> admin.deliveries().handler("mail").retry("x").atMost(0));
    refused(
        ErrorCode.RANGE_INVALID, () -> admin.deliveries().handler("mail").retry("x").perSecond(0));
    refused(
        ErrorCode.NAME_INVALID,
        () -> admin.deliveries().handler("mail").retry("x").operation("no spaces"));
    refused(ErrorCode.HANDLER_KEY_UNKNOWN, () -> admin.deliveries().handler("mial"));
    refused(ErrorCode.HANDLER_KEY_UNKNOWN, () -> admin.messages().type("x").replay("mial", "x"));
    refused(ErrorCode.SELECTION_INVALID, () -> admin.deliveries().type("a\0"));
    assertThat(admin.deliveries().receivedBefore(Instant.MAX).poisoned().count().value())
        .isEqualTo(5);
    assertThat(admin.messages().receivedFrom(Instant.MIN).count().value()).isEqualTo(5);
    assertThat(admin.audit(10)).isEmpty();
    assertThat(admin.deliveries().handler("mail").retry("x").atMost(5).run().changed())
        .isEqualTo(5);
  }

  @Test
  void aChangeNeedsSomebodyAndAReason() {
    TestInbox inbox = poisoned(1);
    InboxAdmin admin = admin(inbox);

    refused(ErrorCode.ACTOR_OR_REASON_INVALID, () -> admin.retry("c", "m-0", "mail", " "));
    refused(ErrorCode.ACTOR_OR_REASON_INVALID, () -> admin.pause("mail", ""));
    refused(
        ErrorCode.ACTOR_OR_REASON_INVALID, () -> admin.deliveries().handler("mail").retry("\0"));
    refused(ErrorCode.ACTOR_OR_REASON_INVALID, () -> admin.as(""));
    refused(ErrorCode.ACTOR_OR_REASON_INVALID, () -> admin.as("x".repeat(201)));
    assertThat(admin.retry("c", "m-0", "mail", "two\nlines")).isTrue();
    assertThat(admin.audit(1).get(0).reason()).isEqualTo("two lines");
  }

  @Test
  void listsComeInPagesNewestFirst() {
    TestInbox inbox = poisoned(7);
    InboxAdmin admin = admin(inbox);
    List<String> seen = new ArrayList<>();
    Page<DeliveryView> page = admin.deliveries().poisoned().first(3);
    while (true) {
      page.items().forEach(each -> seen.add(each.message().id()));
      if (page.next().isEmpty()) {
        break;
      }
      page = admin.deliveries().poisoned().after(page.next().get(), 3);
    }

    assertThat(seen).containsExactly("m-6", "m-5", "m-4", "m-3", "m-2", "m-1", "m-0");
    refused(ErrorCode.PAGE_INVALID, () -> admin.deliveries().first(0));
    refused(ErrorCode.PAGE_INVALID, () -> admin.deliveries().first(101));
    refused(ErrorCode.PAGE_INVALID, () -> admin.deliveries().after("'; DROP TABLE", 3));
    refused(ErrorCode.PAGE_INVALID, () -> admin.messages().after("1", 3));
    assertThat(admin.messages().first(Page.MOST).items()).hasSize(7);
  }

  @ParameterizedTest
  @ValueSource(ints = {-1, 0, InboxAdmin.MOST_LISTED + 1, Integer.MAX_VALUE})
  void aListWithoutPagesHasABoundToo(int limit) {
    InboxAdmin admin = admin(poisoned(1));

    refused(ErrorCode.PAGE_INVALID, () -> admin.audit(limit));
    refused(ErrorCode.PAGE_INVALID, () -> admin.poisoned(limit));
    refused(ErrorCode.PAGE_INVALID, () -> admin.poisoned("mail", limit));
    refused(ErrorCode.PAGE_INVALID, () -> admin.conflicts(limit));
    refused(ErrorCode.PAGE_INVALID, () -> admin.blockedKeys(limit));
    assertThat(admin.poisoned(InboxAdmin.MOST_LISTED)).hasSize(1);
  }

  @ParameterizedTest
  @ValueSource(strings = {"", " ", "a\0", "a\uD800", "a\nb"})
  void whatNothingCanBeCalledIsNotAskedFor(String text) {
    InboxAdmin admin = admin(poisoned(1));
    byte[] content = new byte[0];

    refused(ErrorCode.SELECTION_INVALID, () -> admin.find(text, "m-0", "mail"));
    refused(ErrorCode.SELECTION_INVALID, () -> admin.find("c", text, "mail"));
    refused(ErrorCode.HANDLER_KEY_UNKNOWN, () -> admin.find("c", "m-0", text));
    refused(ErrorCode.SELECTION_INVALID, () -> admin.message("c", text));
    refused(ErrorCode.SELECTION_INVALID, () -> admin.retry("c", text, "mail", "x"));
    refused(ErrorCode.SELECTION_INVALID, () -> admin.complete("c", text, "mail", "x"));
    refused(ErrorCode.SELECTION_INVALID, () -> admin.discard(text, "m-0", "mail", "x"));
    refused(ErrorCode.SELECTION_INVALID, () -> admin.replay("c", text, "mail", "x"));
    refused(ErrorCode.SELECTION_INVALID, () -> admin.editAndRetry("c", text, "mail", content, "x"));
    refused(ErrorCode.SELECTION_INVALID, () -> admin.releaseKey("mail", text, "x"));
    refused(ErrorCode.SELECTION_INVALID, () -> admin.operation(text));
    refused(ErrorCode.SELECTION_INVALID, () -> admin.find("c", "m".repeat(251), "mail"));
  }

  @Test
  void pausedAndHeldAreStatesLikeOthers() {
    TestInbox inbox = inbox();
    inbox.receive("m", "x");
    InboxAdmin admin = admin(inbox);
    admin.pause("mail", "down");

    assertThat(admin.deliveries().in(DeliveryState.PAUSED).first(10).items())
        .singleElement()
        .extracting(DeliveryView::handler, DeliveryView::state)
        .containsExactly("mail", DeliveryState.PAUSED);
    assertThat(admin.deliveries().in(DeliveryState.PENDING).first(10).items())
        .singleElement()
        .extracting(DeliveryView::handler)
        .isEqualTo("stock");
    assertThat(admin.counts())
        .filteredOn(each -> each.handler().equals("mail"))
        .singleElement()
        .extracting(HandlerCounts::paused, HandlerCounts::pending)
        .containsExactly(Count.of(1), Count.of(0));

    Channel other =
        Channel.named("c").on(String.class).named("text").handle("stock", text -> {}).build();
    TestInbox next = TestInbox.on(store, clock, other);
    next.start(); // lives, and knows only one of the keys
    try {
      assertThat(admin.deliveries().in(DeliveryState.HELD).first(10).items())
          .singleElement()
          .extracting(DeliveryView::handler)
          .isEqualTo("mail");
      assertThat(admin.deliveries().in(DeliveryState.PAUSED).count()).isEqualTo(Count.of(0));
      assertThat(inbox).delivery("m", "mail").isHeld();
    } finally {
      next.close();
    }
  }

  private TestInbox knowing(HandlerKey key) {
    store.clock(clock);
    Channel channel =
        Channel.named("c").on(String.class).named("text").handle(key, text -> {}).build();
    return TestInbox.on(store, clock, channel);
  }

  /** Two keys with a delivery each, before somebody declares them one; answers who does. */
  private InboxAdmin joined(Instant notBefore) {
    for (String key : List.of("old", "new")) {
      Message message = Message.of("to-" + key, "x").notBefore(notBefore);
      knowing(HandlerKey.of(key)).receive("c", message);
    }
    return admin(knowing(HandlerKey.of("new").formerly("old")));
  }

  private static List<String> ids(DeliverySelection selection) {
    List<DeliveryView> shown = selection.first(10).items();
    assertThat(selection.count()).isEqualTo(Count.of(shown.size()));
    return shown.stream().map(each -> each.message().id()).sorted().toList();
  }

  @Test
  void ofKeysThatBecameOneEachIsInTheStateThatItIsShownIn() {
    InboxAdmin admin = joined(clock.now().plusSeconds(60));
    TestInbox node = knowing(HandlerKey.of("new")); // lives, and knows only one of them
    node.start();
    try {
      for (String asked : List.of("new", "old")) {
        DeliverySelection both = admin.deliveries().handler(asked);
        assertThat(ids(both)).containsExactly("to-new", "to-old");
        assertThat(ids(both.in(DeliveryState.HELD))).containsExactly("to-old");
        assertThat(ids(both.in(DeliveryState.SCHEDULED))).containsExactly("to-new");
      }
      for (DeliveryState state : List.of(DeliveryState.HELD, DeliveryState.SCHEDULED)) {
        assertThat(admin.deliveries().in(state).first(10).items())
            .singleElement()
            .extracting(DeliveryView::state)
            .isEqualTo(state);
      }
    } finally {
      node.close();
    }
  }

  @Test
  void aPauseOfOneKeyHoldsForThoseThatBecameOneWithItLater() {
    knowing(HandlerKey.of("old")).inbox().admin().pause("old", "down");
    InboxAdmin admin = joined(clock.now());

    for (String asked : List.of("new", "old")) {
      DeliverySelection both = admin.deliveries().handler(asked);
      assertThat(ids(both.in(DeliveryState.PAUSED))).containsExactly("to-new", "to-old");
      assertThat(ids(both.in(DeliveryState.PENDING))).isEmpty();
    }
    assertThat(admin.find("c", "to-new", "new").orElseThrow().state())
        .isEqualTo(DeliveryState.PAUSED);
    assertThat(admin.counts()).extracting(HandlerCounts::paused).containsOnly(Count.of(1));
    admin.resume("new", "up");
    assertThat(ids(admin.deliveries().in(DeliveryState.PENDING)))
        .containsExactly("to-new", "to-old");
  }

  @Test
  void editedContentIsWhatTheHandlerGets() {
    TestInbox inbox = poisoned(1);
    down.set(false);
    InboxAdmin admin = admin(inbox);

    assertThat(admin.editAndRetry("c", "m-0", "mail", "mended".getBytes(UTF_8), "typo")).isTrue();
    inbox.drain();
    assertThat(handled).containsExactly("mended");
    assertThat(inbox).delivery("m-0", "mail").isCompleted();
    assertThat(admin.editAndRetry("c", "m-0", "mail", new byte[0], "again")).isFalse();
    assertThat(admin.editAndRetry("c", "no such", "mail", new byte[0], "again")).isFalse();
    refused(
        ErrorCode.PAYLOAD_TOO_LARGE,
        () -> admin.editAndRetry("c", "m-0", "mail", new byte[1_000_001], "too much"));

    MessageDetail detail = admin.message("c", "m-0").orElseThrow();
    assertThat(new String(detail.content().orElseThrow().bytes(), UTF_8)).isEqualTo("text 0");
    Content edit =
        detail.deliveries().stream()
            .flatMap(each -> each.edit().stream())
            .findFirst()
            .orElseThrow()
            .content();
    assertThat(new String(edit.bytes(), UTF_8)).isEqualTo("mended");
    assertThat(edit).hasToString("Content[%s, 6 bytes]".formatted(edit.contentType()));
    assertThat(detail.toString()).doesNotContain("mended");
  }

  @Test
  void whatNobodyTookIsReplayedAfterTheDeployThatKnowsIt() {
    TestInbox old = inbox();
    for (int i = 0; i < 3; i++) {
      byte[] content = ("u-" + i).getBytes(UTF_8);
      old.receive("c", Message.encoded("u-" + i, "unknown", content, "text/plain"));
    }
    old.receive("m", "known");
    down.set(false);
    old.drain();
    assertThat(admin(old).messages().unhandled().count()).isEqualTo(Count.of(3));
    assertThat(admin(old).messages().unhandled().first(10).items())
        .extracting(MessageView::type)
        .containsOnly("unknown");

    Channel channel =
        Channel.named("c")
            .on(String.class)
            .named("unknown")
            .handle("new", text -> handled.add("new " + text))
            .build();
    TestInbox next = TestInbox.on(store, clock, channel);
    ChangeResult replayed =
        admin(next).messages().unhandled().type("unknown").replay("new", "release 7").run();
    next.drain();

    assertThat(replayed.changed()).isEqualTo(3);
    assertThat(handled).contains("new u-0", "new u-1", "new u-2");
    assertThat(admin(next).messages().unhandled().count()).isEqualTo(Count.of(0));
    assertThat(admin(next).replay("c", "u-0", "new", "once more")).isTrue();
    assertThat(admin(next).replay("c", "u-0", "new", "it waits")).isFalse();
    next.drain();
    assertThat(handled).filteredOn("new u-0"::equals).hasSize(2);
  }

  @Test
  void finishedMessagesArePurgedAndTheRestIsNamed() {
    TestInbox inbox = poisoned(2);
    down.set(false);
    admin(inbox).retry("c", "m-0", "mail", "back");
    inbox.drain();
    ChangeResult purged = admin(inbox).messages().channel("c").purge("gdpr request").run();

    assertThat(purged.matched()).isEqualTo(2);
    assertThat(purged.changed()).isEqualTo(1);
    assertThat(purged.skipped()).isEqualTo(Map.of("is poisoned", 1L));
    assertThat(admin(inbox).message("c", "m-0")).isEmpty();
    assertThat(admin(inbox).message("c", "m-1")).isPresent();
  }

  @Test
  void nodesAndLanesSayWhoWorksWhere() {
    TestInbox inbox = inbox().with(it -> it.beat(ofMillis(20)).deadAfter(ofSeconds(60)));
    InboxAdmin admin = admin(inbox);
    assertThat(admin.lanes("mail")).hasSize(64).allMatch(each -> each.owner().isEmpty());
    inbox.start();
    try {
      inbox.await("all lanes", () -> admin.lanes("mail").stream().allMatch(this::owned));
      assertThat(admin.nodes())
          .singleElement()
          .satisfies(
              node -> {
                assertThat(node.state()).isEqualTo(NodeView.State.LIVE);
                assertThat(node.handlers()).containsExactly("mail", "stock");
                assertThat(node.lanes()).isEqualTo(128);
              });
    } finally {
      inbox.close();
    }
    assertThat(admin.nodes()).extracting(NodeView::state).containsExactly(NodeView.State.STOPPED);
  }

  private boolean owned(LaneView lane) {
    return lane.owner().isPresent();
  }

  @Test
  void aFlatCountSaysSoAndABoundedOneSaysThatThereIsMore() {
    assertThat(Count.of(17)).hasToString("17");
    assertThat(Count.upTo(10_000, 10_000)).hasToString("10,000");
    assertThat(Count.upTo(10_000, 10_001)).hasToString("10,000+");
    assertThat(Count.of(1).plus(Count.upTo(1, 2))).hasToString("2+");
  }
}
