package dev.pigeonhole.internal.dispatch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.pigeonhole.Acceptance.Rejected;
import dev.pigeonhole.Channel;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.HandlerOption;
import dev.pigeonhole.Headers;
import dev.pigeonhole.Idempotent;
import dev.pigeonhole.KeySelector;
import dev.pigeonhole.Message;
import dev.pigeonhole.OnConflict;
import dev.pigeonhole.OnMissingKey;
import dev.pigeonhole.Specs;
import dev.pigeonhole.TypeBuilder;
import dev.pigeonhole.codec.PayloadCodec;
import dev.pigeonhole.internal.registry.ChannelSpec;
import dev.pigeonhole.internal.registry.HeaderFormat;
import dev.pigeonhole.internal.registry.LinesCodec;
import dev.pigeonhole.internal.registry.Payloads;
import dev.pigeonhole.internal.registry.Registry;
import dev.pigeonhole.store.HandlerId;
import dev.pigeonhole.store.NewMessage;
import dev.pigeonhole.transport.Envelope;
import dev.pigeonhole.transport.MessageMapper;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.ServiceConfigurationError;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.NullSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The table of bad input, row by row, and good input that only looks bad. */
class IntakeTest {
  private static final Instant NOW = Instant.parse("2026-03-01T12:00:00Z");
  private static final int LARGEST = 100;
  private static final HandlerId HANDLER = new HandlerId("reserve", 1, 1);

  record Order(String reference) {}

  /** Writes the reference; references of "broken" and "odd" cannot be written. */
  private static final class OrderCodec implements PayloadCodec {
    @Override
    public String contentType() {
      return "text/order";
    }

    @Override
    public byte[] encode(Object payload) {
      String reference = ((Order) payload).reference();
      if (reference.equals("broken")) {
        throw new IllegalStateException("this codec is careless");
      }
      if (reference.equals("odd")) {
        throw new ServiceConfigurationError("x");
      }
      return reference.getBytes(StandardCharsets.UTF_8);
    }

    @Override
    public <T> @Nullable T decode(byte @Nullable [] content, String contentType, Class<T> type) {
      return content == null
          ? null
          : type.cast(new Order(new String(content, StandardCharsets.UTF_8)));
    }
  }

  private static Intake.Checked check(
      @Nullable Function<Object, @Nullable String> businessKey,
      @Nullable Function<Object, @Nullable String> orderingKey,
      Message message) {
    return check(businessKey, null, orderingKey, message);
  }

  private static Intake.Checked check(
      @Nullable Function<Object, @Nullable String> businessKey,
      @Nullable OnMissingKey onMissingKey,
      @Nullable Function<Object, @Nullable String> orderingKey,
      Message message) {
    TypeBuilder<Order> orders =
        Channel.named("orders").on(Order.class).named("order.placed", "Order");
    TypeBuilder<String> texts =
        orders.handle("reserve", order -> {}).on(String.class).named("text");
    for (TypeBuilder<?> type : List.of(orders, texts)) {
      if (businessKey != null) {
        type.keyedBy(businessKey);
      }
      if (onMissingKey != null) {
        type.missingKey(onMissingKey);
      }
      if (orderingKey != null) {
        type.orderedBy(orderingKey);
      }
    }
    ChannelSpec channel = Specs.channel(texts.on(byte[].class).named("blob"));
    Registry registry = new Registry(List.of(channel), List.of(List.of(HANDLER)));
    Intake intake =
        new Intake(
            registry,
            Payloads.using(new OrderCodec()),
            new Intake.Limits(64, LARGEST, 200, 64 * 1024),
            () -> NOW);
    return intake.check(channel, message);
  }

  private static NewMessage accepted(Message message) {
    Intake.Checked checked = check(null, null, message);
    assertThat(checked.rejected()).isNull();
    return Objects.requireNonNull(checked.message());
  }

  private static Rejected rejected(Message message) {
    return rejected(check(null, null, message));
  }

  private static Rejected rejected(Intake.Checked checked) {
    assertThat(checked.message()).isNull();
    Rejected rejected = Objects.requireNonNull(checked.rejected());
    assertThat(rejected.reason()).startsWith(rejected.code().text() + ": ");
    assertThat(rejected.reason().chars()).as(rejected.reason()).noneMatch(Character::isISOControl);
    assertThat(rejected.reason()).hasSizeLessThan(600);
    return rejected;
  }

  private static Message order(@Nullable String id) {
    return Message.of(id, new Order("o-1"));
  }

  @Nested
  class Identity {
    @Test
    void d01_d02_aMissingIdIsRefused() {
      assertThat(rejected(order(null)).code()).isEqualTo(ErrorCode.ID_MISSING);
      assertThat(rejected(order("")).code()).isEqualTo(ErrorCode.ID_MISSING);
    }

    @ParameterizedTest
    @ValueSource(strings = {" ", "   ", "\t", "\u00a0", "\u2003\u3000", "\r\n"})
    void d03_aBlankIdIsRefused(String id) {
      assertThat(rejected(order(id)).code()).isEqualTo(ErrorCode.ID_BLANK);
    }

    @Test
    void d04_d06_twoHundredCharactersAreAcceptedWhateverTheirBytes() {
      assertThat(accepted(order("x".repeat(200))).id()).hasSize(200);
      String emoji = "😀".repeat(200);
      assertThat(accepted(order(emoji)).id().getBytes(StandardCharsets.UTF_8)).hasSize(800);
    }

    @Test
    void d05_twoHundredAndOneAreTooLongAndShownCut() {
      Rejected rejected = rejected(order("y".repeat(201)));

      assertThat(rejected.code()).isEqualTo(ErrorCode.ID_TOO_LONG);
      assertThat(rejected.reason())
          .contains("'" + "y".repeat(64) + "…'")
          .doesNotContain("y".repeat(65))
          .contains("201")
          .contains("200");
      assertThat(rejected(order("😀".repeat(201))).code()).isEqualTo(ErrorCode.ID_TOO_LONG);
    }

    @Test
    void d07_d08_controlCharactersAreNamedWithTheirPlace() {
      Rejected nul = rejected(order("a\0b"));
      assertThat(nul.code()).isEqualTo(ErrorCode.ID_CONTROL_CHARACTER);
      assertThat(nul.reason()).contains("U+0000 at position 1").contains("'a\\u0000b'");
      Rejected line = rejected(order("ab\r\nINFO all is well"));
      assertThat(line.code()).isEqualTo(ErrorCode.ID_CONTROL_CHARACTER);
      assertThat(line.reason()).contains("ab\\u000D\\u000AINFO");
      assertThat(rejected(order("a\u0085")).code()).isEqualTo(ErrorCode.ID_CONTROL_CHARACTER);
    }

    @ParameterizedTest
    @ValueSource(ints = {0xD800, 0xDBFF, 0xDC00, 0xDFFF})
    void d09_halfACharacterIsRefused(int half) {
      for (String id : List.of("a" + (char) half, (char) half + "a", "😀" + (char) half + "😀")) {
        assertThat(rejected(order(id)).code()).isEqualTo(ErrorCode.ID_INVALID_UNICODE);
      }
    }

    @Test
    void whatOnlyLooksAlikeStaysApart() {
      List<String> ids =
          List.of(
              "a",
              "a ",
              " a",
              "A",
              "\u00e9",
              "e\u0301",
              "😀",
              "😁",
              "👩\u200d👩",
              "👩👩",
              "\u202etxt.exe",
              "'; DROP TABLE x;--",
              "../../etc",
              "${jndi:ldap://x}");
      for (String id : ids) {
        assertThat(accepted(order(id)).id()).isEqualTo(id);
      }
    }

    @Test
    void d23_theSourceIsTheChannelUnlessTheMessageSays() {
      assertThat(accepted(order("m-1")).source()).isEqualTo("orders");
      assertThat(accepted(order("m-1").from("../shop")).source()).isEqualTo("../shop");
      assertThat(accepted(order("m-1").from("s".repeat(250))).source()).hasSize(250);
      for (String source :
          List.of("", "  ", "s".repeat(251), "s".repeat(3000), "a\0", "a\nb", "a\uD800")) {
        assertThat(rejected(order("m-1").from(source)).code()).isEqualTo(ErrorCode.SOURCE_INVALID);
      }
    }

    @Test
    void contentTypeAndContentMakeTheHash() {
      NewMessage plain = accepted(Message.encoded("m", "blob", new byte[] {1}, "text/plain"));
      NewMessage other = accepted(Message.encoded("m", "blob", new byte[] {2}, "text/plain"));
      NewMessage typed = accepted(Message.encoded("m", "blob", new byte[] {1}, "text/html"));
      NewMessage headed =
          accepted(Message.encoded("m", "blob", new byte[] {1}, "text/plain").header("a", 1));

      assertThat(plain.contentHash()).isEqualTo(headed.contentHash());
      assertThat(plain.contentHash()).isNotEqualTo(other.contentHash());
      assertThat(plain.contentHash()).isNotEqualTo(typed.contentHash());
    }

    @Test
    void aBusinessKeyTakesThePlaceOfTheId() {
      NewMessage keyed =
          Objects.requireNonNull(
              check(payload -> ((Order) payload).reference(), null, order(null)).message());

      assertThat(keyed.source()).isEqualTo("key of Order"); // its oldest name
      assertThat(keyed.id()).isEqualTo("o-1");
      assertThat(keyed.onConflict()).isEqualTo(OnConflict.REPEAT);
    }

    @Test
    void aBusinessKeyOfEncodedContentIsReadFromTheContent() {
      byte[] content = "o-7".getBytes(StandardCharsets.UTF_8);
      Message message = Message.encoded("m-1", "Order", content, "text/order");

      NewMessage keyed =
          Objects.requireNonNull(
              check(payload -> ((Order) payload).reference(), null, message).message());

      assertThat(keyed.source()).isEqualTo("key of Order"); // by a former name, under one name
      assertThat(keyed.id()).isEqualTo("o-7");
    }

    @Test
    void equalBusinessKeysOfTwoTypesStayApart() {
      NewMessage order =
          Objects.requireNonNull(check(payload -> "k-1", null, order("a")).message());
      NewMessage text =
          Objects.requireNonNull(
              check(payload -> "k-1", null, Message.of("a", "some text")).message());

      assertThat(List.of(order.source(), order.id()))
          .isNotEqualTo(List.of(text.source(), text.id()));
    }

    @Test
    void aSelectorThatFailsIsTheMessagesFault() {
      assertThat(rejected(check(payload -> null, null, order("m"))).code())
          .isEqualTo(ErrorCode.KEY_SELECTOR_FAILED);
      Rejected threw =
          rejected(
              check(
                  payload -> {
                    throw new ArithmeticException("a\0b");
                  },
                  null,
                  order("m")));
      assertThat(threw.code()).isEqualTo(ErrorCode.KEY_SELECTOR_FAILED);
      assertThat(threw.reason()).contains("java.lang.ArithmeticException");
      assertThat(rejected(check(p -> "k", null, Message.encoded("m", "Order", null, "a/b"))).code())
          .isEqualTo(ErrorCode.KEY_SELECTOR_FAILED);
    }

    @Test
    void anErrorOfASelectorIsTheMessagesFaultToo() {
      for (Error error :
          List.of(
              new StackOverflowError(),
              new NoClassDefFoundError("gone"),
              new AssertionError(),
              new ServiceConfigurationError("x"))) {
        Function<Object, @Nullable String> throwing =
            payload -> {
              throw error;
            };
        Rejected key = rejected(check(throwing, null, order("m")));
        assertThat(key.code()).isEqualTo(ErrorCode.KEY_SELECTOR_FAILED);
        assertThat(key.reason()).contains(error.getClass().getName());
        Rejected order = rejected(check(null, throwing, order("m")));
        assertThat(order.code()).isEqualTo(ErrorCode.ORDERING_KEY_INVALID);
        assertThat(order.reason()).contains(error.getClass().getName());
      }
    }

    @Test
    void anErrorOfTheCodecIsTheMessagesFaultToo() {
      Rejected odd = rejected(Message.of("m", new Order("odd")));
      assertThat(odd.code()).isEqualTo(ErrorCode.PAYLOAD_UNENCODABLE);
      assertThat(odd.reason()).contains("java.util.ServiceConfigurationError");
    }

    @Test
    void aJvmInTroubleIsNoMessagesFault() {
      Function<Object, @Nullable String> throwing =
          payload -> {
            throw new OutOfMemoryError("x");
          };
      assertThatThrownBy(() -> check(throwing, null, order("m")))
          .isInstanceOf(OutOfMemoryError.class);
      assertThatThrownBy(() -> check(null, throwing, order("m")))
          .isInstanceOf(OutOfMemoryError.class);
    }

    @Test
    void aSelectedKeyIsHeldToTheRulesOfAnId() {
      assertThat(rejected(check(payload -> "a\0", null, order("m"))).code())
          .isEqualTo(ErrorCode.ID_CONTROL_CHARACTER);
      assertThat(rejected(check(payload -> "x".repeat(201), null, order("m"))).code())
          .isEqualTo(ErrorCode.ID_TOO_LONG);
    }

    @ParameterizedTest
    @NullSource
    @ValueSource(strings = {"", " ", "\u00a0\t"})
    void aMessageWithoutABusinessKeyGoesByThePolicyOfItsType(@Nullable String key) {
      Message message = order("m").from("shop");

      for (@Nullable OnMissingKey none : Arrays.asList(null, OnMissingKey.REJECT)) {
        Rejected rejected = rejected(check(payload -> key, none, null, message));
        assertThat(rejected.code()).isEqualTo(ErrorCode.KEY_SELECTOR_FAILED);
        assertThat(rejected.reason()).contains("order.placed", ".missingKey(");
      }
      Intake.Checked byId = check(payload -> key, OnMissingKey.USE_ID, null, message);
      NewMessage own = Objects.requireNonNull(byId.message());
      assertThat(List.of(own.source(), own.id())).containsExactly("shop", "m");
      assertThat(own.onConflict()).isEqualTo(OnConflict.KEEP);
      Intake.Checked any = check(payload -> key, OnMissingKey.ACCEPT_EVERY_COPY, null, message);
      NewMessage random = Objects.requireNonNull(any.message());
      assertThat(random.source()).isEqualTo("key of Order");
      assertThat(random.id()).startsWith("random-");
      Intake.Checked hashed = check(payload -> key, OnMissingKey.HASH_CONTENT, null, message);
      NewMessage content = Objects.requireNonNull(hashed.message());
      assertThat(content.source()).isEqualTo("key of Order");
      assertThat(content.id()).matches("content-[0-9a-f]{32}");
      assertThat(List.of(byId.keyMissing(), any.keyMissing())).containsExactly(true, true);
      assertThat(List.of(hashed.keyMissing(), hashed.idMade())).containsExactly(true, false);
      assertThat(List.of(byId.idMade(), any.idMade())).containsExactly(false, false);
    }

    @Test
    void aMessageWithAKeyDoesNotMindThePolicy() {
      Intake.Checked checked =
          check(payload -> "k", OnMissingKey.USE_ID, null, order("m").from("shop"));

      assertThat(checked.keyMissing()).isFalse();
      assertThat(Objects.requireNonNull(checked.message()).id()).isEqualTo("k");
    }

    @Test
    void aMissingBodyHasNoKeyButASelectorThatThrowsIsNoMissingKey() {
      Message bodiless = Message.encoded("m", "Order", null, "a/b");
      assertThat(
              Objects.requireNonNull(
                      check(payload -> "k", OnMissingKey.USE_ID, null, bodiless).message())
                  .id())
          .isEqualTo("m");

      Function<Object, @Nullable String> throwing =
          payload -> {
            throw new IllegalStateException("no");
          };
      for (OnMissingKey policy : OnMissingKey.values()) {
        assertThat(rejected(check(throwing, policy, null, order("m"))).code())
            .isEqualTo(ErrorCode.KEY_SELECTOR_FAILED);
      }
    }

    @Test
    void withoutKeyAndIdThereIsNothingToUse() {
      assertThat(rejected(check(payload -> null, OnMissingKey.USE_ID, null, order(null))).code())
          .isEqualTo(ErrorCode.ID_MISSING);
    }
  }

  @Nested
  class BusinessKeys {
    @Idempotent(key = "reference")
    record Charge(String reference) {}

    record Bare(String reference) {}

    /** Nothing of it is ever decoded. */
    private final LinesCodec codec = new LinesCodec();

    private Intake.Checked check(TypeBuilder<?> last, Message message) {
      ChannelSpec channel = Specs.channel(last);
      List<List<HandlerId>> ids =
          channel.types().stream()
              .flatMap(type -> type.handlers().stream())
              .map(handler -> List.of(HANDLER))
              .toList();
      Intake intake =
          new Intake(
              new Registry(List.of(channel), ids),
              Payloads.using(codec),
              new Intake.Limits(64, 1_000, 200, 64 * 1024),
              () -> NOW);
      return intake.check(channel, message);
    }

    private NewMessage accepted(TypeBuilder<?> last, Message message) {
      Intake.Checked checked = check(last, message);
      assertThat(checked.rejected()).isNull();
      return Objects.requireNonNull(checked.message());
    }

    private TypeBuilder<Charge> charges() {
      return Channel.named("cards").on(Charge.class);
    }

    private static Message lines(String text) {
      return Message.encoded("m", "Charge", text.getBytes(StandardCharsets.UTF_8), "text/x-lines");
    }

    @Test
    void aClassCanSayWhatItsKeyIs() {
      NewMessage charge = accepted(charges(), Message.of(null, new Charge("r-1")));

      assertThat(List.of(charge.source(), charge.id())).containsExactly("key of Charge", "r-1");
      assertThat(charge.onConflict()).isEqualTo(OnConflict.REPEAT);
    }

    @Test
    void aKeyOfAClassIsHeldToTheRulesOfAnId() {
      for (Map.Entry<String, ErrorCode> each :
          Map.of(
                  "x".repeat(201),
                  ErrorCode.ID_TOO_LONG,
                  "a\0",
                  ErrorCode.ID_CONTROL_CHARACTER,
                  "a\uD800",
                  ErrorCode.ID_INVALID_UNICODE,
                  " ",
                  ErrorCode.KEY_SELECTOR_FAILED)
              .entrySet()) {
        assertThat(rejected(check(charges(), Message.of("m", new Charge(each.getKey())))).code())
            .isEqualTo(each.getValue());
      }
    }

    @Test
    void aHeaderOrAPlaceOfTheContentIsFoundWithoutDecoding() {
      assertThat(
              accepted(
                      charges().keyedBy(KeySelector.header("x-id")),
                      lines("?").header("x-id", "h-1"))
                  .id())
          .isEqualTo("h-1");
      TypeBuilder<Charge> pointed = charges().keyedBy(KeySelector.jsonPointer("/reference"));
      assertThat(accepted(pointed, lines("reference=r-2\n")).id()).isEqualTo("r-2");
      assertThat(accepted(pointed, Message.of(null, new Charge("r-3"))).id()).isEqualTo("r-3");
      assertThat(rejected(check(pointed, lines("other=r-2\n"))).code())
          .isEqualTo(ErrorCode.KEY_SELECTOR_FAILED);
      assertThat(
              rejected(check(pointed, Message.encoded("m", "Charge", null, "text/x-lines"))).code())
          .isEqualTo(ErrorCode.KEY_SELECTOR_FAILED);
    }

    @Test
    void theOnlyHandlerMayHaveASelectorOfItsOwn() {
      TypeBuilder<Charge> type =
          charges()
              .keyedBy(charge -> "type")
              .handle("h", charge -> {}, HandlerOption.keyedBy(Charge.class, it -> "handler"));

      assertThat(accepted(type, Message.of(null, new Charge("r"))).id()).isEqualTo("handler");
      assertThat(
              accepted(
                      charges()
                          .handle("h", it -> {}, HandlerOption.keyedBy(KeySelector.header("x"))),
                      Message.of(null, new Charge("r")).header("x", 7))
                  .id())
          .isEqualTo("7");
    }

    private List<String> inlineIdentities(TypeBuilder<?> last, Message message) {
      return check(last, message).inline().stream()
          .map(call -> call.message().source() + "/" + call.message().id())
          .toList();
    }

    @Test
    void anInlineHandlerGoesByItsOwnSelectorAndItsSiblingsByWhatComesNext() {
      HandlerOption own = HandlerOption.keyedBy(KeySelector.header("own"));
      Message charge = Message.of("m", new Charge("property")).header("own", "handler");
      Message bare = Message.of("m", new Bare("r")).header("own", "handler");

      assertThat(
              inlineIdentities(
                  charges()
                      .keyedBy(it -> "type")
                      .handle("a", it -> {}, HandlerOption.inline(), own)
                      .handle("b", it -> {}, HandlerOption.inline()),
                  charge))
          .containsExactly("key of Charge/handler", "key of Charge/type");
      assertThat(
              inlineIdentities(
                  charges()
                      .handle("a", it -> {}, HandlerOption.inline())
                      .handle("b", it -> {}, HandlerOption.inline(), own),
                  charge))
          .containsExactly("key of Charge/property", "key of Charge/handler");
      assertThat(
              inlineIdentities(
                  Channel.named("cards")
                      .on(Bare.class)
                      .handle("a", it -> {}, HandlerOption.inline(), own)
                      .handle("b", it -> {}, HandlerOption.inline()),
                  bare))
          .containsExactly("key of Bare/handler", "cards/m");
    }

    @Test
    void theKeyOfAnInlineHandlerIsHeldToTheRulesOfAnId() {
      TypeBuilder<Bare> type =
          Channel.named("cards")
              .on(Bare.class)
              .handle("a", it -> {})
              .handle(
                  "b",
                  it -> {},
                  HandlerOption.inline(),
                  HandlerOption.keyedBy(KeySelector.header("own")));
      Message message = Message.of("m", new Bare("r"));

      assertThat(rejected(check(type, message.header("own", "x".repeat(201)))).code())
          .isEqualTo(ErrorCode.ID_TOO_LONG);
      assertThat(rejected(check(type, message)).reason()).contains("handler 'b'");
      assertThat(rejected(check(type, message.header("own", "k").from("key of Bare"))).code())
          .isEqualTo(ErrorCode.SOURCE_INVALID);
    }

    @Test
    void withoutAKeyTheSameContentCanBeTheSameMessage() {
      TypeBuilder<Charge> type = charges().missingKey(OnMissingKey.HASH_CONTENT);
      TypeBuilder<Charge> keyless = type.named("charge.v2", "Charge").keyedBy(charge -> null);
      NewMessage first = accepted(keyless, Message.of("a", new Charge("r")));

      assertThat(accepted(keyless, Message.of("b", new Charge("r"))).id()).isEqualTo(first.id());
      assertThat(accepted(keyless, Message.of("c", new Charge("s"))).id()).isNotEqualTo(first.id());
      assertThat(first.source()).isEqualTo("key of Charge");
    }
  }

  @Nested
  class Priorities {
    private static final long HOUR = 3_600_000_000L;

    private long place(Message message) {
      return accepted(message).place();
    }

    @Test
    void aStepIsAnHourAndTheNormalOneNeedsNoPlace() {
      assertThat(place(order("m"))).isZero();
      assertThat(place(order("m").priority(4))).isZero();
      long lowest = place(order("m").priority(0));
      assertThat(lowest).isEqualTo(NOW.getEpochSecond() * 1_000_000 + NOW.getNano() / 1_000);
      assertThat(place(order("m").priority(9))).isEqualTo(lowest - 9 * HOUR);
    }

    @Test
    void orderAndTimeAreStronger() {
      assertThat(place(order("m").priority(9).orderedBy("k"))).isZero();
      assertThat(place(order("m").priority(9).notBefore(NOW.plusSeconds(1)))).isZero();
      assertThat(place(order("m").priority(9).notBefore(NOW.minusSeconds(1)))).isPositive();
    }

    @ParameterizedTest
    @ValueSource(ints = {-1, 10, Integer.MIN_VALUE, Integer.MAX_VALUE})
    void d66_aPriorityOutOfRangeIsRefused(int priority) {
      Rejected rejected = rejected(order("m").orderedBy("k").priority(priority));

      assertThat(rejected.code()).isEqualTo(ErrorCode.PRIORITY_OUT_OF_RANGE);
      assertThat(rejected.reason()).contains(String.valueOf(priority), "0 to 9");
    }
  }

  @Nested
  class Payload {
    @Test
    void aMissingAndAnEmptyBodyAreBothKeptAndToldApart() {
      NewMessage missing = accepted(Message.encoded("m", "blob", null, "text/plain"));
      NewMessage empty = accepted(Message.encoded("m", "blob", new byte[0], "text/plain"));

      assertThat(missing.content()).isNull();
      assertThat(empty.content()).isEmpty();
      assertThat(missing.contentHash()).isNotEqualTo(empty.contentHash());
    }

    @Test
    void d37_d38_theLimitItselfIsAcceptedAndOneByteMoreIsNot() {
      assertThat(accepted(Message.of("m", new byte[LARGEST])).content()).hasSize(LARGEST);

      Rejected rejected = rejected(Message.of("m", new byte[LARGEST + 1]));

      assertThat(rejected.code()).isEqualTo(ErrorCode.PAYLOAD_TOO_LARGE);
      assertThat(rejected.reason()).contains("101").contains("100").contains("maxPayload");
      assertThat(rejected(Message.of("m", "é".repeat(LARGEST))).code())
          .isEqualTo(ErrorCode.PAYLOAD_TOO_LARGE);
    }

    @ParameterizedTest
    @ValueSource(
        strings = {
          "application/x-java-serialized-object",
          "Application/X-Java-Serialized-Object; class=x",
          " application/x-java-serialized-object"
        })
    void sc03_serializedJavaIsRefused(String contentType) {
      Rejected rejected = rejected(Message.encoded("m", "blob", new byte[1], contentType));

      assertThat(rejected.code()).isEqualTo(ErrorCode.PAYLOAD_TYPE_REFUSED);
    }

    @Test
    void d34_aClassThatTheChannelDoesNotTakeIsRefusedByName() {
      Rejected rejected = rejected(Message.of("m", 42));

      assertThat(rejected.code()).isEqualTo(ErrorCode.TYPE_NOT_REGISTERED);
      assertThat(rejected.reason()).contains("java.lang.Integer").contains("'orders'");
    }

    @Test
    void anUnknownTypeNameIsKeptWithoutHandlers() {
      for (String type : List.of("com.sun.rowset.JdbcRowSetImpl", "../../x", "a$$Lambda/0x1")) {
        NewMessage kept = accepted(Message.encoded("m", type, new byte[1], "text/plain"));
        assertThat(kept.type()).isEqualTo(type);
        assertThat(kept.handlers()).isEmpty();
      }
      assertThat(accepted(order("m")).handlers()).containsExactly(HANDLER);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", " ", "a\0", "a\nb", "a\uD800"})
    void aTypeNameOrContentTypeThatNoDatabaseTakesIsRefused(String text) {
      assertThat(rejected(Message.encoded("m", text, new byte[1], "text/plain")).code())
          .isEqualTo(ErrorCode.PAYLOAD_TYPE_REFUSED);
      assertThat(rejected(Message.encoded("m", "blob", new byte[1], text)).code())
          .isEqualTo(ErrorCode.PAYLOAD_CHARSET);
    }

    @Test
    void namesHaveALimit() {
      assertThat(rejected(Message.encoded("m", "t".repeat(201), null, "text/plain")).code())
          .isEqualTo(ErrorCode.PAYLOAD_TYPE_REFUSED);
      assertThat(rejected(Message.encoded("m", "blob", null, "c".repeat(201))).code())
          .isEqualTo(ErrorCode.PAYLOAD_CHARSET);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "rabbit mq", "a\0", "a\uD800"})
    void aTransportNeedsAName(String transport) {
      assertThat(rejected(order("m").transport(transport)).code())
          .isEqualTo(ErrorCode.NAME_INVALID);
      assertThat(rejected(order("m").transport("t".repeat(201))).code())
          .isEqualTo(ErrorCode.NAME_INVALID);
    }

    @Test
    void whatCannotBeWrittenIsRefusedAndSinksNobodyElse() {
      assertThat(rejected(Message.of("m", new Order("broken"))).code())
          .isEqualTo(ErrorCode.PAYLOAD_UNENCODABLE);
      assertThat(rejected(Message.of("m", "half \uD83D a smile")).code())
          .isEqualTo(ErrorCode.PAYLOAD_UNENCODABLE);
    }

    @Test
    void laterChangesToTheBytesAreNotSeen() {
      byte[] content = {1, 2, 3};
      NewMessage kept = accepted(Message.encoded("m", "blob", content, "text/plain"));
      content[0] = 9;

      assertThat(kept.content()).containsExactly(1, 2, 3);
    }
  }

  @Nested
  class Metadata {
    @Test
    void d60_headersHaveLimitsInNumberAndSize() {
      Map<String, String> many = new HashMap<>();
      for (int i = 0; i < 200; i++) {
        many.put("h" + i, "v");
      }
      accepted(order("m").headers(Headers.of(many)));
      many.put("one-more", "v");
      assertThat(rejected(order("m").headers(Headers.of(many))).code())
          .isEqualTo(ErrorCode.HEADERS_TOO_LARGE);
      assertThat(rejected(order("m").header("big", "x".repeat(1_000_000))).code())
          .isEqualTo(ErrorCode.HEADERS_TOO_LARGE);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "a\0", "a\r\nb", "a\uDC00"})
    void d61_aHeaderNeedsAName(String name) {
      assertThat(rejected(order("m").header(name, "v")).code())
          .isEqualTo(ErrorCode.HEADER_NAME_INVALID);
    }

    @Test
    @SuppressWarnings("NullAway") // what careless callers do
    void aHeaderWithoutANameIsTheMessagesFault() {
      Map<String, String> map = new HashMap<>();
      map.put(null, "v");
      assertThat(rejected(order("m").headers(Headers.of(map))).code())
          .isEqualTo(ErrorCode.HEADER_NAME_INVALID);
    }

    @Test
    void headersArriveAsTheyWere() {
      Headers headers =
          Headers.none()
              .with("list", Arrays.asList(1, null, List.of("a")))
              .with("table", Map.of("k", Map.of("n", 1.5)))
              .with("none", null)
              .with("at", NOW);
      NewMessage kept = accepted(order("m").headers(headers));

      assertThat(HeaderFormat.decode(kept.headers())).isEqualTo(headers);
      assertThat(rejected(order("m").header("thread", Thread.currentThread())).code())
          .isEqualTo(ErrorCode.HEADER_VALUE_UNSUPPORTED);
    }

    @Test
    void d65_timesOutsideWhatDatabasesKeepAreRefused() {
      for (Instant at :
          List.of(
              Instant.MIN,
              Instant.parse("0000-01-01T00:00:00Z"),
              Instant.parse("0999-12-31T23:59:59Z"),
              Instant.parse("+10000-01-01T00:00:00Z"),
              Instant.MAX)) {
        assertThat(rejected(order("m").occurredAt(at)).code())
            .isEqualTo(ErrorCode.TIMESTAMP_OUT_OF_RANGE);
      }
      for (Instant at :
          List.of(
              Instant.parse("1000-01-01T00:00:00Z"),
              Instant.ofEpochSecond(-1),
              Instant.parse("9999-12-31T23:59:59Z"))) {
        assertThat(accepted(order("m").occurredAt(at)).occurredAt()).isEqualTo(at);
      }
      assertThat(
              accepted(order("m").occurredAt(Instant.parse("2026-01-01T00:00:00.123456789Z")))
                  .occurredAt())
          .isEqualTo(Instant.parse("2026-01-01T00:00:00.123456Z"));
    }

    @Test
    void d66_d67_anOrderingKeyIsCheckedOrAbsent() {
      assertThat(accepted(order("m")).orderingKey()).isNull();
      assertThat(accepted(order("m")).keyHash()).isNull();
      assertThat(accepted(order("m").orderedBy(null)).orderingKey()).isNull();
      assertThat(accepted(order("m").orderedBy("c-1")).orderingKey()).isEqualTo("c-1");
      assertThat(accepted(order("m").orderedBy("😀".repeat(200))).keyHash()).isNotNull();
      for (String key :
          List.of("", " ", "k".repeat(201), "k".repeat(10_240), "a\0", "a\nb", "a\uD800")) {
        assertThat(rejected(order("m").orderedBy(key)).code())
            .isEqualTo(ErrorCode.ORDERING_KEY_INVALID);
      }
    }

    @Test
    void whateverKeyARecordHasItCanBeOrderedBy() {
      MessageMapper mapper = MessageMapper.plain().orderedByKey();
      Envelope record =
          Envelope.of("kafka", "orders").id("m").type("blob").body(new byte[] {1}).build();
      byte[] ends = new byte[101];
      ends[100] = 1;

      NewMessage first = accepted(mapper.toMessage(keyed(record, new byte[101])));
      NewMessage second = accepted(mapper.toMessage(keyed(record, ends)));
      assertThat(first.keyHash()).isNotNull().isNotEqualTo(second.keyHash());
      assertThat(first.orderingKey()).isNotEqualTo(second.orderingKey());
      for (String text : List.of("k".repeat(201), "😀".repeat(201))) {
        assertThat(accepted(mapper.toMessage(record.toBuilder().key(text).build())).orderingKey())
            .startsWith("sha-256:");
      }
      for (String blank : List.of("", " ", "\u2003")) {
        assertThat(accepted(mapper.toMessage(record.toBuilder().key(blank).build())).orderingKey())
            .isNull();
      }
    }

    private Envelope keyed(Envelope record, byte[] key) {
      return record.toBuilder().property("key", key).build();
    }

    @Test
    void oneOrderingKeyIsOneLane() {
      NewMessage first = accepted(order("m-1").orderedBy("c-1"));
      NewMessage second = accepted(Message.of("m-2", "text").from("x").orderedBy("c-1"));

      assertThat(second.lane()).isEqualTo(first.lane());
      assertThat(second.keyHash()).isEqualTo(first.keyHash());
    }

    @Test
    void anOrderingKeyCanBeSelectedAndTheMessagesOwnWins() {
      Function<Object, @Nullable String> selector = payload -> "selected";

      assertThat(Objects.requireNonNull(check(null, selector, order("m")).message()).orderingKey())
          .isEqualTo("selected");
      assertThat(
              Objects.requireNonNull(check(null, selector, order("m").orderedBy("own")).message())
                  .orderingKey())
          .isEqualTo("own");
      assertThat(Objects.requireNonNull(check(null, p -> null, order("m")).message()).orderingKey())
          .isNull();
      assertThat(
              rejected(
                      check(
                          null,
                          payload -> {
                            throw new IllegalStateException();
                          },
                          order("m")))
                  .code())
          .isEqualTo(ErrorCode.ORDERING_KEY_INVALID);
    }

    @Test
    void d68_aTimeInThePastIsNowAndOneTooFarAheadIsAMistake() {
      assertThat(accepted(order("m").notBefore(NOW.minusSeconds(1))).notBefore()).isNull();
      assertThat(accepted(order("m").notBefore(NOW)).notBefore()).isNull();
      assertThat(accepted(order("m").notBefore(Instant.MIN)).notBefore()).isNull();
      Instant soon = NOW.plus(Duration.ofHours(1));
      assertThat(accepted(order("m").notBefore(soon)).notBefore()).isEqualTo(soon);
      for (Instant at : List.of(Instant.parse("3000-01-01T00:00:00Z"), Instant.MAX)) {
        assertThat(rejected(order("m").notBefore(at)).code())
            .isEqualTo(ErrorCode.NOT_BEFORE_OUT_OF_RANGE);
      }
    }
  }
}
