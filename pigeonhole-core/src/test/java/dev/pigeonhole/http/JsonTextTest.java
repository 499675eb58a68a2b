package dev.pigeonhole.http;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

class JsonTextTest {

  static Stream<Arguments> texts() {
    return Stream.of(
        Arguments.of("", "\"\""),
        Arguments.of("plain", "\"plain\""),
        Arguments.of("say \"hi\"", "\"say \\\"hi\\\"\""),
        Arguments.of("C:\\temp", "\"C:\\\\temp\""),
        Arguments.of("a\nb\tc\rd", "\"a\\u000ab\\u0009c\\u000dd\""),
        Arguments.of("\0\u001f\u007f", "\"\\u0000\\u001f\\u007f\""),
        Arguments.of("schön \ud83d\ude00", "\"schön \ud83d\ude00\""),
        Arguments.of("a\ud83db", "\"a\\ud83db\""),
        Arguments.of("\ude00a", "\"\\ude00a\""),
        Arguments.of("a\ud83d", "\"a\\ud83d\""));
  }

  @ParameterizedTest
  @MethodSource("texts")
  void everyTextIsValidJson(String text, String json) {
    assertThat(JsonText.quoted(text)).isEqualTo(json);
  }
}
