package dev.pigeonhole.rabbitmq;

import static org.assertj.core.api.Assertions.assertThat;

import com.rabbitmq.client.AMQP.BasicProperties;
import com.rabbitmq.client.impl.LongStringHelper;
import dev.pigeonhole.Headers;
import dev.pigeonhole.transport.Envelope;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Date;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Headers over a real broker: what goes out comes back in as it was. */
class FieldsTest {

  @Test
  void rq15_tablesOfEveryKindComeBackAsTheyWere() {
    Map<String, Object> headers = new LinkedHashMap<>();
    headers.put("text", "grüße \uD83D\uDCE6");
    headers.put("empty", "");
    headers.put("long", Long.MAX_VALUE);
    headers.put("flag", true);
    headers.put("number", 1.5);
    headers.put("decimal", new BigDecimal("12.50"));
    headers.put("bytes", new byte[] {0, -1, 7});
    headers.put("time", Instant.parse("2026-01-02T03:04:05Z"));
    headers.put("list", List.of("a", 1L, List.of("b")));
    headers.put("table", Map.of("deep", Map.of("deeper", "x")));
    assertThat(through(headers)).usingRecursiveComparison().isEqualTo(headers);
  }

  @Test
  void rq15_bytesThatAreNoTextStayBytes() {
    assertThat((byte[]) through(Map.of("raw", new byte[] {(byte) 0xC3, 0x28})).get("raw"))
        .containsExactly(0xC3, 0x28);
  }

  @Test
  void rq15_longTextsThatAreNoTextStayBytes() {
    byte[] bytes = {(byte) 0xC3, 0x28};
    try (TestQueue queue = TestQueue.create()) {
      queue.publish(
          new Publisher.Outgoing(
              "",
              queue.name(),
              new BasicProperties.Builder()
                  .headers(Map.of("raw", LongStringHelper.asLongString(bytes)))
                  .build(),
              new byte[0]));
      Headers headers = Envelopes.in("queue", queue.arrived().get(0)).headers();
      assertThat(headers.get("raw")).isEqualTo(bytes);
    }
  }

  @Test
  void rq15_kindsThatWeHaveNotBecomeTheNextWiderOne() {
    Map<String, Object> headers = new HashMap<>();
    headers.put("byte", (byte) 1);
    headers.put("short", (short) 2);
    headers.put("int", 3);
    headers.put("float", 1.5f);
    headers.put("date", Date.from(Instant.parse("2026-01-02T03:04:05Z")));
    headers.put("nothing", null);
    Map<String, ?> read = Fields.in(headers).asMap();
    assertThat(read.get("byte")).isEqualTo(1L);
    assertThat(read.get("short")).isEqualTo(2L);
    assertThat(read.get("int")).isEqualTo(3L);
    assertThat(read.get("float")).isEqualTo(1.5);
    assertThat(read.get("date")).isEqualTo(Instant.parse("2026-01-02T03:04:05Z"));
    assertThat(read).containsEntry("nothing", null);
  }

  @Test
  void rq15_whatAmqpHasNoPlaceForIsText() {
    Map<String, Object> headers = new LinkedHashMap<>();
    headers.put("time", Instant.parse("2026-01-02T03:04:05.250Z"));
    headers.put("first", Instant.MIN);
    headers.put("fine", new BigDecimal("1E-300"));
    headers.put("huge", new BigInteger("123456789012345678901234567890"));
    headers.put("exact", new BigDecimal("12345678901234567890.5"));
    headers.put("round", new BigDecimal("1E+3"));
    assertThat(through(headers))
        .isEqualTo(
            Map.of(
                "time",
                "2026-01-02T03:04:05.250Z",
                "first",
                Instant.MIN.toString(),
                "fine",
                "1E-300",
                "huge",
                "123456789012345678901234567890",
                "exact",
                "12345678901234567890.5",
                "round",
                "1E+3"));
  }

  @Test
  void rq15_anyTableComesBackAsItWas() {
    long seed = new Random().nextLong();
    Random random = new Random(seed);
    for (int i = 0; i < 20; i++) {
      Map<String, Object> headers = table(random, 3);
      assertThat(through(headers))
          .as("seed %d", seed)
          .usingRecursiveComparison()
          .isEqualTo(headers);
    }
  }

  private static Map<String, Object> table(Random random, int depth) {
    Map<String, Object> table = new LinkedHashMap<>();
    for (int i = random.nextInt(6); i >= 0; i--) {
      table.put("h" + i, value(random, depth));
    }
    return table;
  }

  private static Object value(Random random, int depth) {
    switch (random.nextInt(depth == 0 ? 4 : 6)) {
      case 0:
        return "t" + random.nextInt();
      case 1:
        return random.nextLong();
      case 2:
        return random.nextBoolean();
      case 3:
        return random.nextDouble();
      case 4:
        return table(random, depth - 1);
      default:
        List<Object> list = new ArrayList<>();
        for (int i = random.nextInt(4); i > 0; i--) {
          list.add(value(random, depth - 1));
        }
        return list;
    }
  }

  private static Map<String, ?> through(Map<String, Object> headers) {
    try (TestQueue queue = TestQueue.create()) {
      queue.send(Envelope.of("test", "queue").id("m").headers(Headers.of(headers)).build());
      return Envelopes.in("queue", queue.arrived().get(0)).headers().asMap();
    }
  }
}
