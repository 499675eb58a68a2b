package dev.pigeonhole.webhook;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

class JsonTextsTest {

  private static Map<String, String> read(String json) throws RefusedException {
    return JsonTexts.read(json.getBytes(UTF_8), Set.of("id", "type"));
  }

  @Test
  void textsOfTheObjectItselfAreFound() throws Exception {
    assertThat(
            read(
                " { \"a\" : [1, -2.5e+3, true, false, null, {\"id\":\"inner\"}, [], {}] ,\r\n"
                    + "\t\"type\" : \"x.y\", \"id\":\"evt_1\" } "))
        .isEqualTo(Map.of("id", "evt_1", "type", "x.y"));
    assertThat(read("{}")).isEmpty();
  }

  @Test
  void escapesAreUnderstood() throws Exception {
    assertThat(read("{\"\\u0069d\":\"a\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e4\\uD83D\\uDE00\"}"))
        .isEqualTo(Map.of("id", "a\"\\/\b\f\n\r\tä😀"));
  }

  @Test
  void whatIsNoTextIsNotThere() throws Exception {
    assertThat(read("{\"id\":7,\"type\":null}")).isEmpty();
    assertThat(read("{\"id\":{\"id\":\"x\"},\"type\":[\"y\"]}")).isEmpty();
  }

  @Test
  void aNameThatIsThereTwiceIsRefused() {
    assertThatThrownBy(() -> read("{\"id\":\"a\",\"id\":\"b\"}"))
        .isInstanceOf(RefusedException.class);
    assertThatThrownBy(() -> read("{\"id\":1,\"\\u0069d\":\"b\"}"))
        .isInstanceOf(RefusedException.class);
  }

  @Test
  void whatIsNoJsonIsRefused() {
    for (String broken :
        List.of(
            "",
            " ",
            "[]",
            "\"id\"",
            "{",
            "{\"id\"",
            "{\"id\":",
            "{\"id\":\"a\"",
            "{\"id\":\"a\",}",
            "{\"id\":\"a\"}}",
            "{\"id\":\"a\"} x",
            "{id:\"a\"}",
            "{'id':'a'}",
            "{\"id\":\"a\nb\"}",
            "{\"id\":\"\\x\"}",
            "{\"id\":\"\\u12g4\"}",
            "{\"id\":\"\\u12\"}",
            "{\"n\":01}",
            "{\"n\":.5}",
            "{\"n\":1.}",
            "{\"n\":+1}",
            "{\"n\":NaN}",
            "{\"n\":tru}",
            "{\"n\":[1,]}",
            "{\"n\":[1}",
            "{\"n\":{\"a\" 1}}",
            "\uFEFF{}")) {
      assertThatThrownBy(() -> read(broken))
          .as(broken)
          .isInstanceOfSatisfying(
              RefusedException.class,
              refused -> {
                assertThat(refused.answer().status()).isEqualTo(400);
                assertThat(refused).hasMessageStartingWith("PH-PAY-03");
              });
    }
    assertThatThrownBy(() -> JsonTexts.read(new byte[] {'{', '"', (byte) 0xff, '"'}, Set.of()))
        .hasMessageStartingWith("PH-PAY-03");
  }

  @Test
  void deepNestingIsRefusedBeforeItHurts() throws Exception {
    assertThat(read("{\"a\":" + "[".repeat(199) + "]".repeat(199) + ",\"id\":\"x\"}"))
        .containsEntry("id", "x");
    assertThatThrownBy(() -> read("{\"a\":" + "[".repeat(200) + "]".repeat(200) + "}"))
        .hasMessageStartingWith("PH-PAY-04");
    assertThatThrownBy(() -> read("{\"a\":" + "{\"a\":".repeat(100_000)))
        .hasMessageStartingWith("PH-PAY-04");
  }
}
