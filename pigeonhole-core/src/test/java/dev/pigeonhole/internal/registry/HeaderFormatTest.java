package dev.pigeonhole.internal.registry;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.Headers;
import dev.pigeonhole.InboxException;
import java.io.ByteArrayOutputStream;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.UUID;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class HeaderFormatTest {

  private static SplittableRandom random(String what) {
    long seed = Long.getLong("pigeonhole.seed", System.nanoTime());
    System.out.println(what + ": -Dpigeonhole.seed=" + seed);
    return new SplittableRandom(seed);
  }

  private static Headers there(Headers headers) {
    return HeaderFormat.decode(HeaderFormat.encode(headers));
  }

  private static void refused(ErrorCode code, ThrowingCallable call) {
    assertThatThrownBy(call)
        .isInstanceOfSatisfying(InboxException.class, e -> assertThat(e.code()).isEqualTo(code));
  }

  @Test
  void sc04_d62_everyKindOfValueComesBackAsItWas() {
    Map<String, @Nullable Object> values = new LinkedHashMap<>();
    values.put("text", "Größe 😀 \0 \r\n");
    values.put("empty", "");
    values.put("half a character", "\uD83D");
    values.put("null", null);
    values.put("true", true);
    values.put("false", false);
    values.put("byte", (byte) -1);
    values.put("short", Short.MIN_VALUE);
    values.put("int", Integer.MIN_VALUE);
    values.put("long", Long.MAX_VALUE);
    values.put("float", -0.0f);
    values.put("double", Double.NaN);
    values.put("integer", new BigInteger("-123456789012345678901234567890"));
    values.put("decimal", new BigDecimal("1.10"));
    values.put("instant", Instant.parse("0001-01-01T00:00:00.123456789Z"));
    values.put("list", Arrays.asList(1, null, List.of("a", List.of())));
    values.put("table", Map.of("k", Map.of("n", 1.5)));

    Headers back = there(Headers.of(values));

    assertThat(back.asMap()).isEqualTo(values);
    assertThat(back.asMap().keySet()).containsExactlyElementsOf(values.keySet());
    assertThat((byte[]) there(Headers.none().with("b", new byte[] {0, -1})).get("b"))
        .containsExactly(0, -1);
    assertThat(HeaderFormat.encode(Headers.none())).isEmpty();
    assertThat(HeaderFormat.decode(new byte[0])).isEqualTo(Headers.none());
  }

  @Test
  void anythingThatCanBeSetComesBack() {
    SplittableRandom random = random("random headers");
    for (int round = 0; round < 2_000; round++) {
      Map<String, @Nullable Object> values = map(random, 0);
      assertThat(there(Headers.of(values)).asMap()).isEqualTo(values);
    }
  }

  private static Map<String, @Nullable Object> map(SplittableRandom random, int depth) {
    Map<String, @Nullable Object> map = new LinkedHashMap<>();
    for (int i = random.nextInt(6); i > 0; i--) {
      map.put("k" + random.nextInt(100) + "é", value(random, depth));
    }
    return map;
  }

  private static @Nullable Object value(SplittableRandom random, int depth) {
    return switch (random.nextInt(depth < 4 ? 14 : 12)) {
      case 0 -> null;
      case 1 -> random.nextBoolean();
      case 2 -> (byte) random.nextInt();
      case 3 -> (short) random.nextInt();
      case 4 -> random.nextInt();
      case 5 -> random.nextLong();
      case 6 -> (float) random.nextDouble();
      case 7 -> random.nextDouble();
      case 8 -> new BigInteger(bytes(random, 1 + random.nextInt(20)));
      case 9 -> new BigDecimal(new BigInteger(bytes(random, 5)), random.nextInt(-50, 50));
      case 10 -> Instant.ofEpochSecond(random.nextInt(), random.nextInt(1_000_000_000));
      case 11 -> text(random);
      case 12 -> map(random, depth + 1);
      default -> {
        List<@Nullable Object> list = new ArrayList<>();
        for (int i = random.nextInt(5); i > 0; i--) {
          list.add(value(random, depth + 1));
        }
        yield list;
      }
    };
  }

  private static byte[] bytes(SplittableRandom random, int length) {
    byte[] bytes = new byte[length];
    random.nextBytes(bytes);
    return bytes;
  }

  /** Any characters at all, halves included. */
  private static String text(SplittableRandom random) {
    StringBuilder text = new StringBuilder();
    for (int i = random.nextInt(20); i > 0; i--) {
      text.append((char) random.nextInt(0x10000));
    }
    return text.toString();
  }

  @Test
  void whatCannotBeKeptIsRefused() {
    refused(
        ErrorCode.HEADER_VALUE_UNSUPPORTED,
        () -> HeaderFormat.encode(Headers.none().with("id", UUID.randomUUID())));
    refused(
        ErrorCode.HEADER_VALUE_UNSUPPORTED,
        () -> HeaderFormat.encode(Headers.none().with("table", Map.of(1, "a"))));
    List<Object> endless = new ArrayList<>();
    endless.add(endless);
    refused(
        ErrorCode.HEADER_VALUE_UNSUPPORTED,
        () -> HeaderFormat.encode(Headers.none().with("list", endless)));
    assertThatThrownBy(
            () -> HeaderFormat.encode(Headers.none().with("a\nb", Thread.currentThread())))
        .hasMessageContaining("'a\\u000Ab'")
        .hasMessageContaining("java.lang.Thread");
  }

  @Test
  void sixteenLevelsAreTheDeepest() {
    Object value = "bottom";
    for (int i = 0; i < 16; i++) {
      value = List.of(value);
    }
    Headers deep = Headers.none().with("deep", value);
    assertThat(there(deep)).isEqualTo(deep);
    Headers deeper = Headers.none().with("deep", List.of(value));
    refused(ErrorCode.HEADER_VALUE_UNSUPPORTED, () -> HeaderFormat.encode(deeper));
  }

  @Test
  void bytesThatSomebodyChangedAreCorruptAndNothingWorse() {
    SplittableRandom random = random("broken headers");
    byte[] good =
        HeaderFormat.encode(
            Headers.none()
                .with("tenant", "acme")
                .with("n", new BigDecimal("1.10"))
                .with("list", List.of(1, "two", Map.of("k", true)))
                .with("at", Instant.EPOCH));
    for (int length = 1; length < good.length; length++) {
      byte[] cut = Arrays.copyOf(good, length);
      refused(ErrorCode.PAYLOAD_CORRUPT, () -> HeaderFormat.decode(cut));
    }
    byte[] longer = Arrays.copyOf(good, good.length + 1);
    refused(ErrorCode.PAYLOAD_CORRUPT, () -> HeaderFormat.decode(longer));
    for (int i = 0; i < 20_000; i++) {
      byte[] broken = good.clone();
      for (int n = random.nextInt(4); n >= 0; n--) {
        broken[random.nextInt(broken.length)] = (byte) random.nextInt();
      }
      try {
        HeaderFormat.decode(broken);
      } catch (InboxException e) {
        assertThat(e.code()).isEqualTo(ErrorCode.PAYLOAD_CORRUPT);
      }
    }
  }

  @Test
  void endlessNestingInBytesIsCorrupt() {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    bytes.write(1);
    bytes.writeBytes(ByteBuffer.allocate(9).putInt(1).putInt(1).put((byte) 'k').array());
    for (int i = 0; i < 100_000; i++) {
      bytes.writeBytes(ByteBuffer.allocate(5).put((byte) 'L').putInt(1).array());
    }
    refused(ErrorCode.PAYLOAD_CORRUPT, () -> HeaderFormat.decode(bytes.toByteArray()));
  }

  @Test
  void sizesThatAreLiesAreCorrupt() {
    byte[] negative = ByteBuffer.allocate(5).put((byte) 1).putInt(-1).array();
    refused(ErrorCode.PAYLOAD_CORRUPT, () -> HeaderFormat.decode(negative));
    byte[] huge = ByteBuffer.allocate(5).put((byte) 1).putInt(Integer.MAX_VALUE).array();
    refused(ErrorCode.PAYLOAD_CORRUPT, () -> HeaderFormat.decode(huge));
    refused(ErrorCode.PAYLOAD_CORRUPT, () -> HeaderFormat.decode(new byte[] {2, 0, 0, 0, 0}));
  }
}
