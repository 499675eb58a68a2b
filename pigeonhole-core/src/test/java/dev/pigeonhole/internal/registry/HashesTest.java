package dev.pigeonhole.internal.registry;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.Map;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/** The fixed values are part of what is stored: a change here orphans every database. */
class HashesTest {

  private static byte[] utf8(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  @Test
  void hashesOfKeysAndIdentitiesNeverChange() {
    assertThat(Long.toHexString(Hashes.key(""))).isEqualTo("efd01f60ba992926");
    assertThat(Long.toHexString(Hashes.key("customer-42"))).isEqualTo("e5c7993df9de03b9");
    assertThat(Long.toHexString(Hashes.key("Größe 😀"))).isEqualTo("f74b7e97e9bec32");
    assertThat(Long.toHexString(Hashes.identity("orders", "m-1"))).isEqualTo("67cd4cc80bbb4b79");
    assertThat(Long.toHexString(Hashes.identity("shop/checkout", "😀")))
        .isEqualTo("a75c2830a4a6d56f");
  }

  @Test
  void lanesNeverChange() {
    assertThat(Hashes.lane(Hashes.key("customer-42"), 64)).isEqualTo(57);
    assertThat(Hashes.lane(Hashes.identity("orders", "m-1"), 64)).isEqualTo(57);
    assertThat(Hashes.lane(-1L, 64)).isEqualTo(63);
    assertThat(Hashes.lane(-1L, 10)).as("unsigned").isEqualTo(5);
    assertThat(Hashes.lane(Long.MIN_VALUE, 1)).isZero();
  }

  @Test
  void contentHashesNeverChange() {
    HexFormat hex = HexFormat.of();
    assertThat(hex.formatHex(Hashes.content("application/json", utf8("{}"))))
        .isEqualTo("52bf0c77108bd1f1923b70f9d2705adc");
    assertThat(hex.formatHex(Hashes.content("application/json", new byte[0])))
        .isEqualTo("8c3a3c8bd44c5d0ee056a601310e4b65");
    assertThat(hex.formatHex(Hashes.content("application/json", null)))
        .isEqualTo("f2e5cd3e750c76a8ebc83046b125f63d");
  }

  @Test
  void idempotencyKeysNeverChangeAndAreUuidsOfVersionEight() {
    String key = Hashes.idempotencyKey("orders", "m-1", "reserve-stock");

    assertThat(key).isEqualTo("f2310c82-0a2c-89c6-be1d-d9933b8fca78");
    assertThat(java.util.UUID.fromString(key).version()).isEqualTo(8);
    assertThat(java.util.UUID.fromString(key).variant()).isEqualTo(2);
  }

  @Test
  void partsNeverRunIntoEachOther() {
    assertThat(Hashes.identity("a", "bc")).isNotEqualTo(Hashes.identity("ab", "c"));
    assertThat(Hashes.idempotencyKey("a", "b", "cd"))
        .isNotEqualTo(Hashes.idempotencyKey("a", "bc", "d"))
        .isNotEqualTo(Hashes.idempotencyKey("ab", "c", "d"));
    assertThat(Hashes.content("ab", utf8("c"))).isNotEqualTo(Hashes.content("a", utf8("bc")));
    long seed = Long.getLong("pigeonhole.seed", System.nanoTime());
    System.out.println("hashed tuples: -Dpigeonhole.seed=" + seed);
    SplittableRandom random = new SplittableRandom(seed);
    Map<Long, String> identities = new HashMap<>();
    Map<String, String> keys = new HashMap<>();
    for (int i = 0; i < 100_000; i++) {
      // Few letters and short parts, so that the same letters are often cut elsewhere.
      String source = letters(random);
      String id = letters(random);
      String handler = letters(random);
      String pair = source + "|" + id;
      String triple = pair + "|" + handler;
      String otherPair = identities.put(Hashes.identity(source, id), pair);
      assertThat(otherPair == null || otherPair.equals(pair))
          .as("%s, %s", otherPair, pair)
          .isTrue();
      String otherTriple = keys.put(Hashes.idempotencyKey(source, id, handler), triple);
      assertThat(otherTriple == null || otherTriple.equals(triple))
          .as("%s, %s", otherTriple, triple)
          .isTrue();
    }
  }

  private static String letters(SplittableRandom random) {
    StringBuilder text = new StringBuilder();
    for (int i = random.nextInt(7); i >= 0; i--) {
      text.append((char) ('a' + random.nextInt(3)));
    }
    return text.toString();
  }

  @Test
  void idsThatCountUpSpreadOverAllLanes() {
    int[] lanes = new int[64];
    int messages = 64_000;
    for (int i = 0; i < messages; i++) {
      lanes[Hashes.lane(Hashes.identity("orders", "m-" + i), 64)]++;
    }
    // 1000 each; with a standard deviation of 31, six of them are beyond chance.
    assertThat(Arrays.stream(lanes).min().orElseThrow()).isGreaterThan(800);
    assertThat(Arrays.stream(lanes).max().orElseThrow()).isLessThan(1_200);
  }
}
