package dev.pigeonhole.testkit;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.pigeonhole.Acceptance;
import dev.pigeonhole.Acceptance.Accepted;
import dev.pigeonhole.Acceptance.Rejected;
import dev.pigeonhole.Acceptance.Repeat;
import dev.pigeonhole.Channel;
import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.HandlerOption;
import dev.pigeonhole.Idempotent;
import dev.pigeonhole.IdempotentMessage;
import dev.pigeonhole.KeySelector;
import dev.pigeonhole.Message;
import dev.pigeonhole.MessageRef;
import dev.pigeonhole.OnMissingKey;
import dev.pigeonhole.TypeBuilder;
import dev.pigeonhole.codec.PayloadCodec;
import dev.pigeonhole.event.EventCounts;
import dev.pigeonhole.event.InboxEvent;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** What tells messages apart: their ids, or something that their senders mean by them. */
class BusinessKeyBehaviourTest {
  record Order(String number, String customer) {}

  record Charge(String reference, String cents) implements IdempotentMessage {
    @Override
    public String idempotencyKey() {
      return reference;
    }
  }

  @Idempotent(key = {"tenant", "order"})
  record Ship(String tenant, String order) {}

  @Idempotent
  record Import(String source, String batch) {}

  private final List<Object> handled = new ArrayList<>();
  private final EventCounts counts = EventCounts.create();
  private final Recorder events = new Recorder();

  private TestInbox inbox(TypeBuilder<?> last) {
    return TestInbox.of(last.build())
        .with(it -> it.codec(new RecordCodec()).listener(counts).listener(events));
  }

  private <T> TypeBuilder<T> on(Class<T> type) {
    return Channel.named("c").on(type).handle("h", handled::add);
  }

  private static Message encoded(@Nullable String id, String type, String... lines) {
    byte[] content = (String.join("\n", lines) + "\n").getBytes(UTF_8);
    return Message.encoded(id, type, content, "text/x-lines");
  }

  private static void rejected(Acceptance answer, ErrorCode code) {
    assertThat(answer)
        .isInstanceOfSatisfying(Rejected.class, it -> assertThat(it.code()).isEqualTo(code));
  }

  private static ConfigurationException refused(TypeBuilder<?> last, PayloadCodec codec) {
    try (TestInbox inbox = TestInbox.of(last.build()).with(it -> it.codec(codec))) {
      inbox.inbox();
    } catch (ConfigurationException e) {
      return e;
    }
    throw new AssertionError("started");
  }

  @Test
  void b15_withoutASelectorTheIdIsTheKey() {
    TestInbox inbox = inbox(on(Order.class));

    assertThat(inbox.receive("m-1", new Order("o-1", "a"))).isInstanceOf(Accepted.class);
    assertThat(inbox.receive("m-2", new Order("o-1", "a"))).isInstanceOf(Accepted.class);
    assertThat(inbox.receive("m-2", new Order("o-1", "a"))).isInstanceOf(Repeat.class);
    inbox.drain();
    assertThat(handled).hasSize(2);
  }

  @Test
  void b16_id09_aRepublishedMessageWithANewIdIsARepeat() {
    TestInbox inbox = inbox(on(Order.class).keyedBy(Order::number));

    assertThat(inbox.receive("m-1", new Order("o-1", "a"))).isInstanceOf(Accepted.class);
    assertThat(inbox.receive("m-2", new Order("o-1", "b"))).isInstanceOf(Repeat.class);
    assertThat(inbox.receive("c", encoded("m-3", "Order", "o-1", "c"))).isInstanceOf(Repeat.class);
    inbox.drain();
    assertThat(handled).containsExactly(new Order("o-1", "a"));
  }

  @Test
  void b17_withoutAKeyAMessageIsRejectedAndCountedAndNobodyRuns() {
    TestInbox inbox = inbox(on(Ship.class));

    rejected(inbox.receive("m", new Ship("", "o-1")), ErrorCode.KEY_SELECTOR_FAILED);
    assertThat(counts.of(InboxEvent.Rejected.class, "c")).isEqualTo(1);
    assertThat(inbox.drain()).isZero();
    assertThat(handled).isEmpty();
  }

  @Test
  void b18_withoutAKeyEveryCopyCanBeHandledAndIsCounted() {
    TestInbox inbox = inbox(on(Ship.class).missingKey(OnMissingKey.ACCEPT_EVERY_COPY));

    for (int i = 0; i < 3; i++) {
      assertThat(inbox.receive("m", new Ship("", "o-1"))).isInstanceOf(Accepted.class);
    }
    assertThat(inbox.receive("m", new Ship("acme", "o-1"))).isInstanceOf(Accepted.class);
    inbox.drain();
    assertThat(handled).hasSize(4);
    assertThat(counts.of(InboxEvent.WithoutKey.class, "c")).isEqualTo(3);
  }

  @Test
  void withoutAKeyTheContentCanStandForItAndIsCounted() {
    TestInbox inbox = inbox(on(Ship.class).missingKey(OnMissingKey.HASH_CONTENT));

    assertThat(inbox.receive("m-1", new Ship("", "o-1"))).isInstanceOf(Accepted.class);
    assertThat(inbox.receive("m-2", new Ship("", "o-1"))).isInstanceOf(Repeat.class);
    assertThat(inbox.receive("m-3", new Ship("", "o-2"))).isInstanceOf(Accepted.class);
    assertThat(events.of(InboxEvent.WithoutKey.class))
        .hasSize(3)
        .allSatisfy(
            it -> {
              assertThat(it.message().source()).isEqualTo("key of Ship");
              assertThat(it.message().id()).matches("content-[0-9a-f]{32}");
            });
  }

  @Test
  void b19_aMessageThatKnowsItsKeyGoesByIt() {
    TestInbox inbox = inbox(on(Charge.class));

    assertThat(inbox.receive("m-1", new Charge("r-1", "100"))).isInstanceOf(Accepted.class);
    assertThat(inbox.receive(null, new Charge("r-1", "200"))).isInstanceOf(Repeat.class);
    assertThat(inbox.receive("c", encoded(null, "Charge", "r-1", "5"))).isInstanceOf(Repeat.class);
    rejected(inbox.receive("m-2", new Charge(" ", "100")), ErrorCode.KEY_SELECTOR_FAILED);
    inbox.drain();
    assertThat(handled).containsExactly(new Charge("r-1", "100"));
  }

  @Test
  void b20_propertiesThatAnAnnotationNamesAreTheKey() {
    TestInbox inbox = inbox(on(Ship.class));

    assertThat(inbox.receive("m-1", new Ship("a", "bc")))
        .isEqualTo(new Accepted(new MessageRef("key of Ship", "a|bc")));
    assertThat(inbox.receive("m-2", new Ship("ab", "c"))).isInstanceOf(Accepted.class);
    assertThat(inbox.receive("m-3", new Ship("a", "bc"))).isInstanceOf(Repeat.class);
    inbox.drain();
    assertThat(handled).hasSize(2);
  }

  @Test
  void b21_withoutAPropertyTheHashOfTheContentIsTheKey() {
    TestInbox inbox = inbox(on(Import.class));

    assertThat(inbox.receive("m-1", new Import("erp", "1"))).isInstanceOf(Accepted.class);
    assertThat(inbox.receive("m-2", new Import("erp", "1"))).isInstanceOf(Repeat.class);
    assertThat(inbox.receive("c", encoded("m-3", "Import", "erp", "1"))).isInstanceOf(Repeat.class);
    assertThat(inbox.receive("m-1", new Import("erp", "2"))).isInstanceOf(Accepted.class);
    inbox.drain();
    assertThat(handled).containsExactlyInAnyOrder(new Import("erp", "1"), new Import("erp", "2"));
  }

  @Test
  void b22_whereNothingSaysWhatTheKeyIsNoneIsMissed() {
    TestInbox inbox = inbox(on(Order.class));

    assertThat(inbox.receive("m", new Order("", ""))).isInstanceOf(Accepted.class);
    assertThat(events.heard(InboxEvent.WithoutKey.class)).isFalse();
  }

  @Idempotent(key = "refrence")
  record Misspelt(String reference) {}

  @Test
  void b23_aPropertyThatDoesNotExistRefusesToStart() {
    ConfigurationException refused = refused(on(Misspelt.class), new RecordCodec());

    assertThat(refused.code()).isEqualTo(ErrorCode.BUSINESS_KEY_INVALID);
    assertThat(refused).hasMessageContaining("'refrence'").hasMessageContaining("'c'");
  }

  @Test
  void b23_v8_whatTheCodecCannotDoRefusesToStart() {
    PayloadCodec plain = new Plain();

    assertThat(refused(on(Import.class), plain).code()).isEqualTo(ErrorCode.BUSINESS_KEY_INVALID);
    assertThat(refused(on(Order.class).keyedBy(KeySelector.jsonPointer("/a")), plain).code())
        .isEqualTo(ErrorCode.BUSINESS_KEY_INVALID);
    assertThat(
            refused(on(Order.class).keyedBy(KeySelector.jsonPointer("a")), new RecordCodec())
                .code())
        .isEqualTo(ErrorCode.BUSINESS_KEY_INVALID);
    assertThat(
            refused(
                    on(Order.class).keyedBy(Order::number).keyedBy(Order::customer),
                    new RecordCodec())
                .code())
        .isEqualTo(ErrorCode.BUSINESS_KEY_INVALID);
  }

  @Test
  void aTypeMayHaveItsOwnCodecForIt() {
    TypeBuilder<Import> type = on(Import.class).codec(new RecordCodec());

    try (TestInbox inbox = TestInbox.of(type.build()).with(it -> it.codec(new Plain()))) {
      assertThat(inbox.receive("m-1", new Import("erp", "1"))).isInstanceOf(Accepted.class);
      assertThat(inbox.receive("m-2", new Import("erp", "1"))).isInstanceOf(Repeat.class);
    }
  }

  @Test
  void keysOfTwoTypesDoNotMeetHoweverTheyAreFound() {
    TestInbox inbox =
        inbox(
            on(Charge.class)
                .on(Order.class)
                .keyedBy(Order::number)
                .handle("orders", handled::add)
                .on(String.class)
                .keyedBy(KeySelector.header("x-id"))
                .handle("texts", handled::add));

    assertThat(inbox.receive("m", new Charge("k", "1"))).isInstanceOf(Accepted.class);
    assertThat(inbox.receive("m", new Order("k", "1"))).isInstanceOf(Accepted.class);
    assertThat(inbox.receive("c", Message.of("m", "k").header("x-id", "k")))
        .isInstanceOf(Accepted.class);
    inbox.drain();
    assertThat(handled).hasSize(3);
  }

  @Test
  void aKeyThatIsTooLongOrCannotBeStoredIsRejectedBeforeAnythingRuns() {
    TestInbox inbox = inbox(on(Charge.class));

    rejected(inbox.receive("m", new Charge("x".repeat(201), "1")), ErrorCode.ID_TOO_LONG);
    rejected(inbox.receive("m", new Charge("a\0", "1")), ErrorCode.ID_CONTROL_CHARACTER);
    rejected(inbox.receive("m", new Charge("a\uD800", "1")), ErrorCode.ID_INVALID_UNICODE);
    assertThat(counts.of(InboxEvent.Rejected.class, "c")).isEqualTo(3);
    assertThat(inbox.drain()).isZero();
  }

  @Test
  void aHeaderIsTheKeyOfWhatNobodyDecodes() {
    TestInbox inbox = inbox(on(Order.class).keyedBy(KeySelector.header("x-request-id")));
    Message unreadable = encoded("m", "Order", "one line too few");

    assertThat(inbox.receive("c", unreadable.header("x-request-id", "r-1")))
        .isEqualTo(new Accepted(new MessageRef("key of Order", "r-1")));
    assertThat(inbox.receive("c", encoded("n", "Order", "o", "c").header("x-request-id", "r-1")))
        .isInstanceOf(Repeat.class);
    assertRejectedNaming("header 'x-request-id'", inbox.receive("c", unreadable));
    assertRejectedNaming(
        "header 'x-request-id'",
        inbox.receive("c", unreadable.header("X-Request-Id", "r-2"))); // another header
  }

  private static void assertRejectedNaming(String place, Acceptance answer) {
    rejected(answer, ErrorCode.KEY_SELECTOR_FAILED);
    assertThat(((Rejected) answer).reason()).contains(place);
  }

  @Test
  void aMessageWithoutABodyMayHaveItsKeyInAHeader() {
    TestInbox inbox = inbox(on(Order.class).keyedBy(KeySelector.header("x-request-id")));
    Message bodiless = Message.encoded("m", "Order", null, "text/plain");

    assertThat(inbox.receive("c", bodiless.header("x-request-id", "r-1")))
        .isEqualTo(new Accepted(new MessageRef("key of Order", "r-1")));
  }

  @Test
  void aPlaceInTheContentIsTheKeyOfWhatNobodyDecodes() {
    TestInbox inbox = inbox(on(Order.class).keyedBy(KeySelector.jsonPointer("/0")));

    assertThat(inbox.receive("c", encoded("m", "Order", "o-1", "c", "one line too many")))
        .isEqualTo(new Accepted(new MessageRef("key of Order", "o-1")));
    assertThat(inbox.receive("n", new Order("o-1", "c"))).isInstanceOf(Repeat.class);
    assertRejectedNaming("the content at '/0'", inbox.receive("c", encoded("m", "Order", "")));
  }

  @Test
  void theOnlyHandlerMayHaveItsOwnKeyAndWithOthersItRefusesToStart() {
    HandlerOption byCustomer = HandlerOption.keyedBy(Order.class, Order::customer);
    TypeBuilder<Order> alone =
        Channel.named("c")
            .on(Order.class)
            .keyedBy(Order::number)
            .handle("h", handled::add, byCustomer);
    TestInbox inbox = inbox(alone);
    assertThat(inbox.receive("m-1", new Order("o-1", "a"))).isInstanceOf(Accepted.class);
    assertThat(inbox.receive("m-2", new Order("o-2", "a"))).isInstanceOf(Repeat.class);

    assertThatThrownBy(() -> inbox(alone.handle("other", handled::add)).inbox())
        .isInstanceOfSatisfying(
            ConfigurationException.class,
            e -> assertThat(e.code()).isEqualTo(ErrorCode.OPTION_NOT_APPLICABLE))
        .hasMessageContaining("'h'");
  }

  /** A codec of a format without fields. */
  private static final class Plain implements PayloadCodec {
    @Override
    public String contentType() {
      return "text/x-plain";
    }

    @Override
    public byte[] encode(Object payload) {
      return payload.toString().getBytes(UTF_8);
    }

    @Override
    public <T> @Nullable T decode(byte @Nullable [] content, String contentType, Class<T> type) {
      return null;
    }
  }
}
