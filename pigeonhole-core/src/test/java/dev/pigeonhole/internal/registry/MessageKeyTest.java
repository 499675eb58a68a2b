package dev.pigeonhole.internal.registry;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.Headers;
import dev.pigeonhole.InboxException;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.NullSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Keys that are found without decoding a message: in a header, or at a place of the content. */
class MessageKeyTest {
  private static final Map<String, Object> CONTENT =
      Map.ofEntries(
          Map.entry("order", Map.of("id", "o-1", "number", BigInteger.TEN)),
          Map.entry("lines", List.of("first", List.of(true))),
          Map.entry("price", new BigDecimal("1.50")),
          Map.entry("a/b", "slash"),
          Map.entry("m~n", "tilde"),
          Map.entry("~1", "both"),
          Map.entry("", "empty"),
          Map.entry(" ", "space"),
          Map.entry("0", "zero"));

  /** Has no payload: nobody may ask for it. */
  private record Received(Headers headers, @Nullable Object content) implements KeySubject {
    @Override
    public Object payload() {
      throw new AssertionError("decoded");
    }

    @Override
    public Object fields() {
      throw new AssertionError("encoded");
    }
  }

  private static @Nullable String at(@Nullable Object content, String pointer) {
    PointerKey key = new PointerKey(pointer);
    assertThat(key.problems(String.class)).isEmpty();
    return key.read(new Received(Headers.none(), content));
  }

  private static @Nullable String header(@Nullable Object value) {
    return new HeaderKey("x-id").read(new Received(Headers.none().with("x-id", value), null));
  }

  private static void refused(ThrowingCallable call) {
    assertThatThrownBy(call)
        .isInstanceOfSatisfying(
            InboxException.class,
            e -> assertThat(e.code()).isEqualTo(ErrorCode.KEY_SELECTOR_FAILED))
        .hasMessageContaining("cannot be a key");
  }

  @ParameterizedTest
  @CsvSource({
    "/order/id, o-1",
    "/order/number, 10",
    "/lines/0, first",
    "/lines/1/0, true",
    "/price, 1.5",
    "/a~1b, slash",
    "/m~0n, tilde",
    "/~01, both",
    "/, empty",
    "'/ ', space",
    "/0, zero"
  })
  void aPointerNamesAPlace(String pointer, String key) {
    assertThat(at(CONTENT, pointer)).isEqualTo(key);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "/nothing",
        "/order/id/x",
        "/lines/2",
        "/lines/00",
        "/lines/-",
        "/lines/x",
        "/x/y"
      })
  void aPlaceThatIsNotThereHasNoKey(String pointer) {
    assertThat(at(CONTENT, pointer)).isNull();
    assertThat(at(null, pointer)).isNull();
  }

  @Test
  void theWholeContentCanBeAKeyAndAPartOfItThatIsNoValueCannot() {
    assertThat(at("o-1", "")).isEqualTo("o-1");
    refused(() -> at(CONTENT, ""));
    refused(() -> at(CONTENT, "/order"));
    refused(() -> at(CONTENT, "/lines"));
  }

  @ParameterizedTest
  @NullSource
  @ValueSource(strings = {"order", "order/id", "#/order", "/a~2b", "/a~", "$.order"})
  @SuppressWarnings("NullAway") // what careless callers do
  void whatIsNoPointerIsRefused(@Nullable String pointer) {
    assertThat(new PointerKey(pointer).problems(String.class))
        .singleElement()
        .asString()
        .contains("no JSON pointer");
  }

  @Test
  void aPointerNeedsACodecThatShowsContent() {
    assertThat(new PointerKey("/a").problems(String.class, null))
        .singleElement()
        .asString()
        .contains("StructuredCodec", "'/a'");
    assertThat(new PointerKey("/a").problems(String.class, new LinesCodec())).isEmpty();
  }

  @Test
  void aHeaderIsAKey() {
    assertThat(header("r-1")).isEqualTo("r-1");
    assertThat(header(42L)).isEqualTo("42");
    assertThat(header(Instant.EPOCH)).isEqualTo("1970-01-01T00:00:00Z");
    assertThat(header("é".getBytes(StandardCharsets.UTF_8))).isEqualTo("é");
    assertThat(header(null)).isNull();
    assertThat(new HeaderKey("other").read(new Received(Headers.none(), null))).isNull();
    refused(() -> header(List.of("a")));
    refused(() -> header(new byte[] {(byte) 0xff}));
  }

  @ParameterizedTest
  @NullSource
  @ValueSource(strings = {"", "a\nb"})
  @SuppressWarnings("NullAway") // what careless callers do
  void aHeaderThatNoMessageCanHaveIsRefused(@Nullable String name) {
    assertThat(new HeaderKey(name).problems(String.class))
        .singleElement()
        .asString()
        .doesNotContain("\n");
  }
}
