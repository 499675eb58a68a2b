package dev.pigeonhole.internal.registry;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class CanonicalContentTest {
  private static String of(@Nullable Object tree, String... except) {
    return new String(CanonicalContent.of(tree, List.of(except)), StandardCharsets.US_ASCII);
  }

  private static Map<String, @Nullable Object> map(@Nullable Object... namesAndValues) {
    Map<String, @Nullable Object> map = new LinkedHashMap<>();
    for (int i = 0; i < namesAndValues.length; i += 2) {
      map.put((String) namesAndValues[i], namesAndValues[i + 1]);
    }
    return map;
  }

  @Test
  void theFormIsPartOfWhatIsStored() {
    assertThat(
            of(
                map(
                    "b",
                    Arrays.asList(1, null, true, "é\"\\\n😀"),
                    "a",
                    map("y", new BigDecimal("10.50"), "x", Map.of()))))
        .isEqualTo(
            "{\"a\":{\"x\":{},\"y\":10.5},"
                + "\"b\":[1,null,true,\"\\u00e9\\u0022\\u005c\\u000a\\ud83d\\ude00\"]}");
    assertThat(of(null)).isEqualTo("null");
    assertThat(of(List.of())).isEqualTo("[]");
  }

  @Test
  void theOrderOfFieldsDoesNotCountThatOfAListDoes() {
    assertThat(of(map("a", 1, "b", map("c", 2, "d", 3))))
        .isEqualTo(of(map("b", map("d", 3, "c", 2), "a", 1)));
    assertThat(of(List.of(1, 2))).isNotEqualTo(of(List.of(2, 1)));
  }

  @Test
  void aFieldThatIsNullIsNone() {
    assertThat(of(map("a", 1, "b", null))).isEqualTo(of(map("a", 1)));
    assertThat(of(Arrays.asList(1, null))).isNotEqualTo(of(List.of(1)));
  }

  @Test
  void numbersGoByTheirValueAndStayNumbers() {
    for (Number one :
        List.of(1L, BigInteger.ONE, new BigDecimal("1.00"), 1.0, new BigDecimal("10e-1"))) {
      assertThat(of(one)).isEqualTo("1");
    }
    assertThat(of(new BigDecimal("0e5"))).isEqualTo(of(0));
    assertThat(of(100)).isEqualTo(of(new BigDecimal("1e2")));
    assertThat(of(new BigDecimal("1e999999999"))).hasSizeLessThan(20);
    assertThat(of("1")).isNotEqualTo(of(1));
    assertThat(of("true")).isNotEqualTo(of(true));
  }

  @Test
  void halfCharactersStayApart() {
    assertThat(of("\ud800")).isNotEqualTo(of("\ud801")).isNotEqualTo(of("?"));
  }

  @Test
  void fieldsAreLeftOutByTheirPathAlsoInLists() {
    Map<String, @Nullable Object> tree =
        map(
            "at",
            1,
            "a",
            map("at", 2, "b", 3),
            "lines",
            List.of(map("at", 4, "n", 5), map("n", 6)));

    assertThat(of(tree, "at", "lines.at"))
        .isEqualTo("{\"a\":{\"at\":2,\"b\":3},\"lines\":[{\"n\":5},{\"n\":6}]}");
    assertThat(of(tree, "a", "lines", "at")).isEqualTo("{}");
    assertThat(of(tree, "a.at", "li")).contains("\"a\":{\"b\":3}", "\"lines\"");
  }

  @Test
  void aCodecThatAnswersOtherObjectsIsTold() {
    assertThatThrownBy(() -> of(new Object())).hasMessageContaining("java.lang.Object");
  }
}
