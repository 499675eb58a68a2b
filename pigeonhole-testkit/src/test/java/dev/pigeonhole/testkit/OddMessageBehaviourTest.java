package dev.pigeonhole.testkit;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.groups.Tuple.tuple;

import dev.pigeonhole.Acceptance;
import dev.pigeonhole.Channel;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.Message;
import dev.pigeonhole.MessageRef;
import dev.pigeonhole.OnConflict;
import dev.pigeonhole.OnMissingId;
import dev.pigeonhole.OnMissingKey;
import dev.pigeonhole.Unhandled;
import dev.pigeonhole.admin.ConflictDetail;
import dev.pigeonhole.admin.ConflictView;
import dev.pigeonhole.admin.InboxAdmin;
import dev.pigeonhole.event.InboxEvent;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Messages that nobody handles, and messages without an id. */
class OddMessageBehaviourTest {
  private final Recorder events = new Recorder();
  private final MemoryStore store = MemoryStore.create();
  private final List<String> handled = new ArrayList<>();

  private TestInbox inbox(Unhandled unhandled, OnMissingId onMissingId) {
    Channel channel =
        Channel.named("c")
            .unhandled(unhandled)
            .onMissingId(onMissingId)
            .on(String.class)
            .named("text")
            .handle("h", handled::add)
            .on(byte[].class)
            .named("bytes")
            .build();
    return TestInbox.on(store, new TestClock(), channel).with(it -> it.listener(events));
  }

  private static Acceptance receive(
      TestInbox inbox, @Nullable String id, String type, String text) {
    return inbox.receive("c", Message.encoded(id, type, text.getBytes(UTF_8), "text/plain"));
  }

  @Test
  void t14_whatNobodyHandlesIsKeptAndDeliveredWhenItComesAgainToSomebodyWhoDoes() {
    TestInbox inbox = inbox(Unhandled.KEEP, OnMissingId.REJECT);

    assertThat(receive(inbox, "m", "unknown", "x")).isInstanceOf(Acceptance.Accepted.class);
    assertThat(receive(inbox, "n", "bytes", "x")).isInstanceOf(Acceptance.Accepted.class);

    assertThat(events.of(InboxEvent.Unhandled.class))
        .extracting(InboxEvent.Unhandled::type, InboxEvent.Unhandled::kept)
        .containsExactly(tuple("unknown", true), tuple("bytes", true));
    assertThat(store.admin().messages()).isEqualTo(2);
    assertThat(receive(inbox, "m", "unknown", "x")).isInstanceOf(Acceptance.Repeat.class);
    assertThat(events.of(InboxEvent.Unhandled.class)).hasSize(2);

    TestInbox next =
        TestInbox.on(
            store,
            new TestClock(),
            Channel.named("c")
                .on(String.class)
                .named("unknown")
                .handle("new", handled::add)
                .build());
    assertThat(receive(next, "m", "unknown", "x")).isInstanceOf(Acceptance.Repeat.class);
    next.drain();
    assertThat(handled).containsExactly("x");
  }

  @Test
  void whatNobodyHandlesIsRejectedWhereTheChannelSaysSo() {
    TestInbox inbox = inbox(Unhandled.REJECT, OnMissingId.REJECT);

    for (String type : List.of("unknown", "bytes")) {
      assertThat(receive(inbox, "m", type, "x"))
          .isInstanceOfSatisfying(
              Acceptance.Rejected.class,
              it -> {
                assertThat(it.code()).isEqualTo(ErrorCode.TYPE_UNHANDLED);
                assertThat(it.reason()).contains("'c'", "'" + type + "'", ".unhandled(");
              });
    }
    assertThat(events.of(InboxEvent.Rejected.class)).hasSize(2);
    assertThat(store.admin().messages()).isZero();
    assertThat(receive(inbox, "m", "text", "x")).isInstanceOf(Acceptance.Accepted.class);
  }

  @Test
  void whatNobodyHandlesIsIgnoredWhereTheChannelSaysSoButNotSilently() {
    TestInbox inbox = inbox(Unhandled.IGNORE, OnMissingId.REJECT);

    List<Acceptance> answers =
        inbox
            .inbox()
            .accept(
                "c",
                List.of(
                    Message.encoded("m", "unknown", new byte[0], "text/plain"),
                    Message.of("n", "x"),
                    Message.encoded("", "unknown", new byte[0], "text/plain")));

    assertThat(answers.get(0)).isInstanceOf(Acceptance.Ignored.class);
    assertThat(answers.get(1)).isInstanceOf(Acceptance.Accepted.class);
    assertThat(answers.get(2)).isInstanceOf(Acceptance.Rejected.class);
    assertThat(events.of(InboxEvent.Unhandled.class))
        .singleElement()
        .satisfies(it -> assertThat(it.kept()).isFalse());
    assertThat(store.admin().messages()).isEqualTo(1);
  }

  @Test
  void withoutAnIdTheContentCanStandForIt() {
    TestInbox inbox = inbox(Unhandled.KEEP, OnMissingId.HASH_CONTENT);

    assertThat(receive(inbox, null, "text", "x")).isInstanceOf(Acceptance.Accepted.class);
    assertThat(receive(inbox, "", "text", "x")).isInstanceOf(Acceptance.Repeat.class);
    assertThat(receive(inbox, null, "text", "y")).isInstanceOf(Acceptance.Accepted.class);
    assertThat(receive(inbox, "m", "text", "x")).isInstanceOf(Acceptance.Accepted.class);
    // The same content of another type is another message.
    assertThat(receive(inbox, null, "bytes", "x")).isInstanceOf(Acceptance.Accepted.class);

    inbox.drain();
    assertThat(handled).containsExactlyInAnyOrder("x", "y", "x");
    assertThat(events.of(InboxEvent.WithoutId.class))
        .hasSize(4)
        .allSatisfy(it -> assertThat(it.message().id()).matches("content-[0-9a-f]{32}"));
  }

  @Test
  void withoutAnIdEveryCopyCanBeTaken() {
    TestInbox inbox = inbox(Unhandled.KEEP, OnMissingId.ACCEPT_EVERY_COPY);

    assertThat(receive(inbox, null, "text", "x")).isInstanceOf(Acceptance.Accepted.class);
    assertThat(receive(inbox, null, "text", "x")).isInstanceOf(Acceptance.Accepted.class);

    inbox.drain();
    assertThat(handled).containsExactly("x", "x");
    assertThat(events.of(InboxEvent.WithoutId.class))
        .extracting(it -> it.message().id())
        .hasSize(2)
        .doesNotHaveDuplicates()
        .allMatch(id -> id.startsWith("random-"));
  }

  @Test
  void aBlankIdIsNoMissingOne() {
    TestInbox inbox = inbox(Unhandled.KEEP, OnMissingId.HASH_CONTENT);

    assertThat(receive(inbox, "  ", "text", "x"))
        .isInstanceOfSatisfying(
            Acceptance.Rejected.class, it -> assertThat(it.code()).isEqualTo(ErrorCode.ID_BLANK));
  }

  private TestInbox keyed(OnMissingKey policy) {
    Channel channel =
        Channel.named("c")
            .on(String.class)
            .named("text")
            .keyedBy(text -> text.startsWith("#") ? text.substring(1) : null)
            .missingKey(policy)
            .handle("h", handled::add)
            .build();
    return TestInbox.on(store, new TestClock(), channel).with(it -> it.listener(events));
  }

  @Test
  void withoutABusinessKeyAMessageIsRejected() {
    TestInbox inbox = keyed(OnMissingKey.REJECT);

    assertThat(receive(inbox, "m", "text", "x"))
        .isInstanceOfSatisfying(
            Acceptance.Rejected.class,
            it -> assertThat(it.code()).isEqualTo(ErrorCode.KEY_SELECTOR_FAILED));
    assertThat(receive(inbox, "m", "text", "#k")).isInstanceOf(Acceptance.Accepted.class);
    assertThat(events.of(InboxEvent.WithoutKey.class)).isEmpty();
    assertThat(events.of(InboxEvent.Rejected.class)).hasSize(1);
  }

  @Test
  void withoutABusinessKeyTheIdCanStandForIt() {
    TestInbox inbox = keyed(OnMissingKey.USE_ID);

    assertThat(receive(inbox, "m", "text", "x")).isInstanceOf(Acceptance.Accepted.class);
    assertThat(receive(inbox, "m", "text", "x")).isInstanceOf(Acceptance.Repeat.class);
    assertThat(receive(inbox, "m", "text", "y")).isInstanceOf(Acceptance.Conflict.class);
    // A key that reads like the id is another identity.
    assertThat(receive(inbox, "n", "text", "#m")).isInstanceOf(Acceptance.Accepted.class);

    inbox.drain();
    assertThat(handled).containsExactlyInAnyOrder("x", "#m");
    assertThat(events.of(InboxEvent.WithoutKey.class))
        .hasSize(3)
        .allSatisfy(it -> assertThat(it.message()).isEqualTo(new MessageRef("c", "m")));
  }

  @Test
  void withoutABusinessKeyEveryCopyCanBeTaken() {
    TestInbox inbox = keyed(OnMissingKey.ACCEPT_EVERY_COPY);

    assertThat(receive(inbox, "m", "text", "x")).isInstanceOf(Acceptance.Accepted.class);
    assertThat(receive(inbox, "m", "text", "x")).isInstanceOf(Acceptance.Accepted.class);

    inbox.drain();
    assertThat(handled).containsExactly("x", "x");
    assertThat(events.of(InboxEvent.WithoutKey.class))
        .extracting(it -> it.message().id())
        .hasSize(2)
        .doesNotHaveDuplicates()
        .allMatch(id -> id.startsWith("random-"));
  }

  @Test
  void aBusinessKeyIsNeverTakenForAnId() {
    Channel channel =
        Channel.named("orders")
            .onConflict(OnConflict.REPEAT)
            .on(String.class)
            .named("orders") // as the channel, which is the source of what comes without one
            .keyedBy(text -> text)
            .handle("keyed", handled::add)
            .on(byte[].class)
            .handle("plain", bytes -> handled.add("plain"))
            .build();
    TestInbox inbox = TestInbox.on(store, new TestClock(), channel);

    assertThat(inbox.receive("m", "o-7")).isInstanceOf(Acceptance.Accepted.class);
    assertThat(inbox.receive("o-7", new byte[1])).isInstanceOf(Acceptance.Accepted.class);
    assertThat(inbox.receive("orders", Message.of("o-7", new byte[1]).from("key of orders")))
        .isInstanceOfSatisfying(
            Acceptance.Rejected.class,
            it -> assertThat(it.code()).isEqualTo(ErrorCode.SOURCE_INVALID));
    assertThat(inbox.receive("orders", Message.of("n", "o-7").from("key of orders")))
        .as("what has a key goes by it, whatever source it names")
        .isInstanceOf(Acceptance.Repeat.class);

    inbox.drain();
    assertThat(handled).containsExactlyInAnyOrder("o-7", "plain");
  }

  @Test
  void aSecondCopyIsDismissedOrAcceptedUnderAnotherId() {
    TestInbox inbox = inbox(Unhandled.KEEP, OnMissingId.REJECT);
    InboxAdmin admin = inbox.inbox().admin().as("ada");
    receive(inbox, "m", "text", "first");
    inbox.receive(
        "c",
        Message.encoded("m", "text", "second".getBytes(UTF_8), "text/plain").header("tenant", "x"));
    receive(inbox, "m", "text", "third");
    assertThat(admin.conflicts(10)).hasSize(2);
    long third = admin.conflicts(10).get(0).conflict();
    long second = admin.conflicts(10).get(1).conflict();

    assertThat(admin.dismissConflict(third, "a slip of the producer")).isTrue();
    assertThat(admin.dismissConflict(third, "again")).isFalse();
    assertThat(admin.acceptConflict(third, "m-3", "too late")).isEmpty();

    assertThat(admin.acceptConflict(second, "m", "the id is taken").orElseThrow())
        .isInstanceOf(Acceptance.Conflict.class);
    assertThat(admin.conflicts(10)).hasSize(1);
    assertThat(admin.acceptConflict(second, "m-2", "both were meant").orElseThrow())
        .isInstanceOf(Acceptance.Accepted.class);
    assertThat(admin.conflicts(10)).isEmpty();
    inbox.drain();
    assertThat(handled).containsExactlyInAnyOrder("first", "second");
    assertThat(store.tables().audit)
        .extracting(Tables.AuditRow::action)
        .containsExactly("dismiss", "accept", "unaccept", "accept");
  }

  private long second(TestInbox inbox) {
    receive(inbox, "m", "text", "first");
    receive(inbox, "m", "text", "second");
    return inbox.inbox().admin().conflicts(1).get(0).conflict();
  }

  @Test
  void ofTwoWhoAcceptASecondCopyUnderDifferentIdsTheSecondIsRefused() {
    TestInbox inbox = inbox(Unhandled.KEEP, OnMissingId.REJECT);
    long conflict = second(inbox);
    InboxAdmin admin = inbox.inbox().admin().as("ada");
    // Somebody has begun, and died before it was accepted.
    store.admin().claimConflict(conflict, "m-2", "bob", "both were meant");

    assertThat(admin.acceptConflict(conflict, "m-3", "both were meant").orElseThrow())
        .isInstanceOfSatisfying(
            Acceptance.Rejected.class,
            it -> {
              assertThat(it.code()).isEqualTo(ErrorCode.CONFLICT_TAKEN);
              assertThat(it.reason()).contains("'m-2'");
            });
    assertThat(admin.dismissConflict(conflict, "no")).isFalse();
    assertThat(admin.conflicts(1).get(0).acceptedAs()).contains("m-2");
    assertThat(admin.acceptConflict(conflict, "m-2", "for bob").orElseThrow())
        .isInstanceOf(Acceptance.Accepted.class);
    assertThat(admin.acceptConflict(conflict, "m-2", "again")).isEmpty();

    inbox.drain();
    assertThat(handled).containsExactlyInAnyOrder("first", "second");
  }

  @Test
  void aSecondCopyThatWasAcceptedAndNotYetDeletedIsDeletedByWhoeverGoesOn() {
    TestInbox inbox = inbox(Unhandled.KEEP, OnMissingId.REJECT);
    long conflict = second(inbox);
    store.admin().claimConflict(conflict, "m-2", "bob", "both were meant");
    receive(inbox, "m-2", "text", "second"); // and then somebody died

    InboxAdmin admin = inbox.inbox().admin().as("ada");
    assertThat(admin.acceptConflict(conflict, "m-2", "for bob").orElseThrow())
        .isInstanceOf(Acceptance.Repeat.class);
    assertThat(admin.conflicts(10)).isEmpty();
    inbox.drain();
    assertThat(handled).containsExactlyInAnyOrder("first", "second");
  }

  @Test
  void aSecondCopyStaysWhereARepeatWasNotCompared() {
    long conflict = second(inbox(Unhandled.KEEP, OnMissingId.REJECT));
    Channel careless =
        Channel.named("c")
            .onConflict(OnConflict.REPEAT) // since the last deployment
            .on(String.class)
            .named("text")
            .handle("h", handled::add)
            .build();
    TestInbox inbox = TestInbox.on(store, new TestClock(), careless);
    receive(inbox, "m-2", "text", "something else");
    InboxAdmin admin = inbox.inbox().admin().as("ada");

    assertThat(admin.acceptConflict(conflict, "m-2", "both were meant").orElseThrow())
        .isInstanceOf(Acceptance.Conflict.class);
    assertThat(admin.conflict(conflict)).isPresent();
    assertThat(admin.acceptConflict(conflict, "m-3", "both were meant").orElseThrow())
        .isInstanceOf(Acceptance.Accepted.class);
    assertThat(admin.conflicts(10)).isEmpty();
  }

  @Test
  void aSecondCopyOfAChannelThatIsGoneCanStillBeDismissed() {
    long conflict = second(inbox(Unhandled.KEEP, OnMissingId.REJECT));
    TestInbox other =
        TestInbox.on(
            store,
            new TestClock(),
            Channel.named("d").on(String.class).handle("other", handled::add).build());
    InboxAdmin admin = other.inbox().admin().as("ada");

    assertThatThrownBy(() -> admin.acceptConflict(conflict, "m-2", "both were meant"))
        .isInstanceOfSatisfying(
            InboxException.class, it -> assertThat(it.code()).isEqualTo(ErrorCode.CHANNEL_UNKNOWN));
    assertThat(admin.dismissConflict(conflict, "the channel is gone")).isTrue();
  }

  @Test
  void aSecondCopyIsLookedAtBeforeSomebodyDecides() {
    TestInbox inbox = inbox(Unhandled.KEEP, OnMissingId.REJECT);
    InboxAdmin admin = inbox.inbox().admin().as("ada");
    Instant then = Instant.parse("2026-01-02T03:04:05Z");
    receive(inbox, "m", "text", "first");
    inbox.receive(
        "c",
        Message.encoded("m", "text", "secret".getBytes(UTF_8), "text/plain")
            .header("tenant", "x")
            .orderedBy("k")
            .occurredAt(then));
    ConflictView view = admin.conflicts(1).get(0);

    ConflictDetail detail = admin.conflict(view.conflict()).orElseThrow();

    assertThat(detail.view()).isEqualTo(view);
    assertThat(detail.content().orElseThrow().bytes()).asString(UTF_8).isEqualTo("secret");
    assertThat(detail.content().orElseThrow().contentType()).isEqualTo("text/plain");
    assertThat(detail.headers().text("tenant")).contains("x");
    assertThat(detail.orderingKey()).contains("k");
    assertThat(detail.occurredAt()).contains(then);
    assertThat(detail.toString()).doesNotContain("secret");
    admin.dismissConflict(view.conflict(), "seen");
    assertThat(admin.conflict(view.conflict())).isEmpty();
  }

  @Test
  void aSecondCopyThatIsAcceptedKeepsItsPlaceInTheOrder() {
    List<String> seen = new ArrayList<>();
    Instant then = Instant.parse("2026-01-02T03:04:05Z");
    TestInbox inbox =
        TestInbox.on(
            store,
            new TestClock(),
            Channel.named("c")
                .on(String.class)
                .handleMessage(
                    "h",
                    received ->
                        seen.add(
                            "%s %s %s"
                                .formatted(
                                    received.payload(),
                                    received.orderingKey().orElse("-"),
                                    received.occurredAt().map(Instant::toString).orElse("-"))))
                .build());
    inbox.receive("c", Message.of("m", "first").orderedBy("k-1"));
    inbox.receive("c", Message.of("m", "second").orderedBy("k-2").occurredAt(then));
    InboxAdmin admin = inbox.inbox().admin().as("ada");

    admin.acceptConflict(admin.conflicts(1).get(0).conflict(), "m-2", "both were meant");
    inbox.drain();

    assertThat(seen).containsExactlyInAnyOrder("first k-1 -", "second k-2 " + then);
  }
}
