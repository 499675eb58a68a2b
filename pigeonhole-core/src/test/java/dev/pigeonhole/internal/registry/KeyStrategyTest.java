package dev.pigeonhole.internal.registry;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.Idempotent;
import dev.pigeonhole.IdempotentMessage;
import dev.pigeonhole.InboxException;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.net.URI;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.ZonedDateTime;
import java.util.ArrayList;
import java.util.Date;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

class KeyStrategyTest {
  private final Payloads payloads = Payloads.using(new LinesCodec());

  private @Nullable String key(Object payload) {
    KeyStrategy strategy = KeyStrategy.of(payload.getClass());
    assertThat(strategy.problems()).isEmpty();
    assertThat(strategy.problems(payloads, null)).isEmpty();
    return strategy.key(payload, payloads);
  }

  private static String problem(Class<?> type) {
    List<String> problems = KeyStrategy.of(type).problems();
    assertThat(problems).hasSize(1);
    return problems.get(0);
  }

  /** Who decides, where two of them could: the one that stands further up. */
  @Nested
  class Precedence {
    record Nothing(String reference) {}

    @Idempotent
    record ByContent(String reference) {}

    @Idempotent(key = "reference")
    record ByProperty(String reference) {}

    record Itself(String reference) implements IdempotentMessage {
      @Override
      public String idempotencyKey() {
        return "itself";
      }
    }

    @Idempotent(key = "reference")
    record ItselfAndProperty(String reference) implements IdempotentMessage {
      @Override
      public String idempotencyKey() {
        return "itself";
      }
    }

    @Idempotent
    record ItselfAndContent(String reference) implements IdempotentMessage {
      @Override
      public String idempotencyKey() {
        return "itself";
      }
    }

    private static final List<Object> ALL =
        List.of(
            new Nothing("r"),
            new ByContent("r"),
            new ByProperty("r"),
            new Itself("r"),
            new ItselfAndProperty("r"),
            new ItselfAndContent("r"));

    private @Nullable String key(
        Object payload, @Nullable KeyReader ofHandler, List<KeyReader> ofType) {
      KeyStrategy strategy = KeyStrategy.of(payload.getClass(), ofHandler, ofType);
      assertThat(strategy.problems()).isEmpty();
      return strategy.key(payload, payloads);
    }

    private static KeyReader answering(String key) {
      return new SelectorKey(Object.class, payload -> key);
    }

    @Test
    void theSelectorOfAHandlerWinsOverEverything() {
      for (Object payload : ALL) {
        assertThat(key(payload, answering("handler"), List.of(answering("type"))))
            .isEqualTo("handler");
        assertThat(key(payload, answering("handler"), List.of())).isEqualTo("handler");
      }
    }

    @Test
    void theSelectorOfATypeWinsOverTheClass() {
      for (Object payload : ALL) {
        assertThat(key(payload, null, List.of(answering("type")))).isEqualTo("type");
      }
    }

    @Test
    void b19_theMessageItselfWinsOverAnyAnnotation() {
      assertThat(key(new Itself("r"), null, List.of())).isEqualTo("itself");
      assertThat(key(new ItselfAndProperty("r"), null, List.of())).isEqualTo("itself");
      assertThat(key(new ItselfAndContent("r"), null, List.of())).isEqualTo("itself");
    }

    @Test
    void aNamedPropertyWinsOverTheContentAndTheContentOverTheId() {
      assertThat(key(new ByProperty("r"), null, List.of())).isEqualTo("r");
      assertThat(key(new ByContent("r"), null, List.of())).matches("[0-9a-f]{64}");
    }

    @Test
    void withoutAnyOfThemThereIsNoKey() {
      KeyStrategy none = KeyStrategy.of(Nothing.class);

      assertThat(none.isPresent()).isFalse();
      assertThat(none.key(new Nothing("r"), payloads)).isNull();
      assertThat(none.problems(payloads, null)).isEmpty();
    }

    @Test
    void v6_whoAnswersNothingIsNotReplacedByTheNext() {
      KeyReader nothing = new SelectorKey(Object.class, payload -> null);

      assertThat(key(new ByProperty("r"), nothing, List.of(answering("type")))).isNull();
      assertThat(key(new ByProperty("r"), null, List.of(nothing))).isNull();
    }

    @Test
    void whatIsNotUsedIsNotChecked() {
      assertThat(KeyStrategy.of(Wrong.class, null, List.of(answering("type"))).problems())
          .isEmpty();
    }

    @Idempotent(key = "refrence")
    record Wrong(String reference) {}

    @Test
    void twoSelectorsOfATypeAreOneTooMany() {
      assertThat(
              KeyStrategy.of(Nothing.class, null, List.of(answering("a"), answering("b")))
                  .problems())
          .singleElement()
          .asString()
          .contains("keyedBy 2 times", Nothing.class.getName());
    }

    @Test
    void aSelectorOfAnotherClassIsRefused() {
      KeyReader forTexts = new SelectorKey(String.class, payload -> "k");

      assertThat(KeyStrategy.of(Nothing.class, forTexts, List.of()).problems())
          .singleElement()
          .asString()
          .contains("java.lang.String", Nothing.class.getName());
    }
  }

  @Nested
  class Properties {
    record Order(@Nullable String id, Line line) {}

    record Line(int number) {}

    @Idempotent(key = {"tenant", "order.id"})
    record ShipOrder(@Nullable String tenant, @Nullable Order order) {}

    @Idempotent(key = "order.line.number")
    record Deep(Order order) {}

    private final Line line = new Line(7);

    @Test
    void b20_aNamedPropertyIsTheKey() {
      assertThat(key(new Deep(new Order("o", line)))).isEqualTo("7");
    }

    @Test
    void severalAreJoinedSoThatTheyStayApart() {
      assertThat(key(new ShipOrder("acme", new Order("o-1", line)))).isEqualTo("acme|o-1");
      List<String> keys = new ArrayList<>();
      for (String[] each :
          new String[][] {
            {"a", "bc"},
            {"ab", "c"},
            {"a|b", "c"},
            {"a", "b|c"},
            {"a\\", "|b"},
            {"a\\|", "b"},
            {"a\\|b", "c"},
            {"a\\", "b|c"}
          }) {
        keys.add(key(new ShipOrder(each[0], new Order(each[1], line))));
      }
      assertThat(keys).doesNotHaveDuplicates().doesNotContainNull();
    }

    @Test
    void aPartThatIsMissingMakesTheKeyMissing() {
      assertThat(key(new ShipOrder(null, new Order("o", line)))).isNull();
      assertThat(key(new ShipOrder("acme", new Order(null, line)))).isNull();
      assertThat(key(new ShipOrder("acme", new Order("\u00a0", line)))).isNull();
      assertThat(key(new ShipOrder("acme", null))).isNull();
    }

    @Idempotent(key = {"reference", "urgent", "state", "number"})
    public static class Bean {
      public final int number = 3;

      public String getReference() {
        return "r";
      }

      public boolean isUrgent() {
        return true;
      }

      public String state() {
        return "new";
      }
    }

    static class Child extends Bean {}

    @Test
    void gettersAndPublicFieldsAreProperties() {
      assertThat(key(new Bean())).isEqualTo("r|true|new|3");
      assertThat(key(new Child())).as("the annotation is inherited").isEqualTo("r|true|new|3");
    }

    @Idempotent(key = "id")
    interface Event {
      String id();
    }

    record Placed(String id) implements Event {}

    @Test
    void theClassThatIsDeclaredDecides() {
      KeyStrategy strategy = KeyStrategy.of(Event.class);

      assertThat(strategy.key(new Placed("e-1"), payloads)).isEqualTo("e-1");
      assertThat(KeyStrategy.of(Placed.class).isPresent()).isFalse();
    }

    @Idempotent(key = "id")
    record Failing(String value) {
      public String getId() {
        throw new ArithmeticException("secret");
      }
    }

    @Test
    void aGetterThatThrowsIsTold() {
      assertThatThrownBy(() -> key(new Failing("x")))
          .isInstanceOfSatisfying(
              InboxException.class,
              e -> assertThat(e.code()).isEqualTo(ErrorCode.KEY_SELECTOR_FAILED))
          .hasMessageContaining("java.lang.ArithmeticException")
          .hasMessageNotContaining("secret");
    }
  }

  @Nested
  class Values {
    enum Size {
      LARGE {
        @Override
        public String toString() {
          return "size 2";
        }
      }
    }

    @Idempotent(key = "value")
    record Any(@Nullable Object value) {}

    static Stream<Arguments> texts() {
      UUID uuid = UUID.fromString("00000000-0000-0000-0000-000000000001");
      return Stream.of(
          Arguments.of("o-1", "o-1"),
          Arguments.of(' ' + "a ", " a "),
          Arguments.of('c', "c"),
          Arguments.of(true, "true"),
          Arguments.of((byte) 1, "1"),
          Arguments.of(100, "100"),
          Arguments.of(Long.MIN_VALUE, "-9223372036854775808"),
          Arguments.of(new BigInteger("12345678901234567890"), "12345678901234567890"),
          Arguments.of(new BigDecimal("100"), "100"),
          Arguments.of(new BigDecimal("1.50"), "1.5"),
          Arguments.of(new BigDecimal("1e999999999"), "1E+999999999"),
          Arguments.of(0.1f, "0.1"),
          Arguments.of(7.0, "7"),
          Arguments.of(Double.NaN, "NaN"),
          Arguments.of(Size.LARGE, "LARGE"),
          Arguments.of(uuid, uuid.toString()),
          Arguments.of(URI.create("urn:a"), "urn:a"),
          Arguments.of(Instant.EPOCH, "1970-01-01T00:00:00Z"),
          Arguments.of(LocalDate.of(2026, 3, 1), "2026-03-01"),
          Arguments.of(
              ZonedDateTime.parse("2026-03-01T00:00+01:00[Europe/Berlin]"),
              "2026-03-01T00:00+01:00[Europe/Berlin]"),
          Arguments.of(Duration.ofHours(1), "PT1H"),
          Arguments.of(Optional.of("x"), "x"));
    }

    @ParameterizedTest
    @MethodSource("texts")
    void aValueHasOneText(Object value, String text) {
      assertThat(key(new Any(value))).isEqualTo(text);
    }

    @Test
    void noValueIsNoKey() {
      assertThat(key(new Any(null))).isNull();
      assertThat(key(new Any(Optional.empty()))).isNull();
    }

    @Test
    void whatHasNoStableTextIsRefusedWhenItComes() {
      for (Object value :
          List.of(List.of("a"), Map.of(), new byte[1], new Date(0), new Object(), new Any("a"))) {
        assertThatThrownBy(() -> key(new Any(value)))
            .isInstanceOfSatisfying(
                InboxException.class,
                e -> assertThat(e.code()).isEqualTo(ErrorCode.KEY_SELECTOR_FAILED))
            .hasMessageContaining("The key 'value' of " + Any.class.getName())
            .hasMessageContaining(value.getClass().getTypeName());
      }
    }
  }

  /** Mistakes that are found before the first message. */
  @Nested
  class Refusals {
    @Idempotent(key = "refrence")
    record Misspelt(String reference, int cents) {}

    @Idempotent(key = "order.idd")
    record MisspeltInside(Inside order) {}

    record Inside(String id) {}

    @Idempotent(key = "")
    record Empty(String reference) {}

    @Idempotent(key = "order.")
    record EndsWithADot(Inside order) {}

    @Idempotent(key = "hashCode")
    static class OfEveryObject {}

    @Idempotent(key = "secret")
    static class Private {
      @SuppressWarnings("unused")
      private final String secret = "s";

      public static String getSecret() {
        return "static";
      }
    }

    @Idempotent(key = "items")
    record OfList(List<String> items) {}

    @Idempotent(key = "items")
    record OfMap(Map<String, String> items) {}

    @Idempotent(key = "items")
    record OfBytes(byte[] items) {}

    @Idempotent(key = "items")
    record OfArray(String[] items) {}

    @Idempotent(key = "items")
    record OfRecord(Inside items) {}

    @Idempotent(key = "items")
    record OfDate(Date items) {}

    @Idempotent(key = "items")
    record OfBuilder(StringBuilder items) {}

    @Idempotent(key = "reference", except = "cents")
    record Both(String reference, int cents) {}

    @Idempotent(except = {"cent", "cents"})
    record ExceptNothing(String reference, int cents) {}

    @Test
    void b23_aWrongNameIsTheEndOfIt() {
      assertThat(problem(Misspelt.class))
          .contains("'refrence'", Misspelt.class.getName(), "It has: reference, cents.");
      assertThat(problem(MisspeltInside.class))
          .contains("'order.idd'", "no property 'idd'", Inside.class.getName(), "It has: id.");
    }

    @ParameterizedTest
    @ValueSource(classes = {Empty.class, EndsWithADot.class, OfEveryObject.class, Private.class})
    void whatIsNoPropertyIsRefused(Class<?> type) {
      assertThat(problem(type)).contains("does not exist", type.getName());
    }

    @ParameterizedTest
    @ValueSource(
        classes = {
          OfList.class,
          OfMap.class,
          OfBytes.class,
          OfArray.class,
          OfRecord.class,
          OfDate.class,
          OfBuilder.class
        })
    void whatCannotBeAKeyIsRefused(Class<?> type) {
      assertThat(problem(type)).contains("'items'", "cannot be a key", ".keyedBy(");
    }

    @Test
    void aKeyAndFieldsLeftOutExcludeEachOther() {
      assertThat(problem(Both.class)).contains(Both.class.getName(), "'except'");
    }

    @Test
    void aFieldLeftOutMustExist() {
      KeyStrategy strategy = KeyStrategy.of(ExceptNothing.class);

      assertThat(strategy.problems()).isEmpty();
      assertThat(strategy.problems(payloads, null))
          .singleElement()
          .asString()
          .contains("'cent'", ExceptNothing.class.getName());
    }

    @Test
    void theContentNeedsACodecThatShowsIt() {
      assertThat(KeyStrategy.of(ExceptNothing.class).problems(Payloads.using(null), null))
          .singleElement()
          .asString()
          .contains("StructuredCodec", ExceptNothing.class.getName());
    }
  }

  @Nested
  class Contents {
    @Idempotent(except = "requestedAt")
    record ImportData(String source, int batch, Instant requestedAt) {}

    private final Instant now = Instant.EPOCH;

    @Test
    void b21_id17_t7_equalContentIsOneKeyAndFieldsLeftOutDoNotCount() {
      String key = key(new ImportData("erp", 1, now));

      assertThat(key).matches("[0-9a-f]{64}");
      assertThat(key(new ImportData("erp", 1, now.plusSeconds(1)))).isEqualTo(key);
      assertThat(key(new ImportData("erp", 2, now))).isNotEqualTo(key);
      assertThat(KeyStrategy.of(ImportData.class).isContent()).isTrue();
    }
  }
}
