package dev.pigeonhole.http;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.pigeonhole.ErrorCode;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

class KeyHeaderTest {

  private static String read(String... lines) throws KeyRefusedException {
    return KeyHeader.read(List.of(lines));
  }

  @Test
  void withoutAHeaderThereIsNoKey() throws KeyRefusedException {
    assertThat(read()).isNull();
  }

  static Stream<Arguments> keys() {
    return Stream.of(
        Arguments.of("\"8e03978e-40d5\"", "8e03978e-40d5"),
        Arguments.of("8e03978e-40d5", "8e03978e-40d5"),
        Arguments.of("  \"k\"  ", "k"),
        Arguments.of("  k  ", "k"),
        Arguments.of("\" k \"", " k "),
        Arguments.of("\"a, b; c\"", "a, b; c"),
        Arguments.of("\"a\\\"b\\\\c\"", "a\"b\\c"),
        Arguments.of("a\\b;c=d", "a\\b;c=d"),
        Arguments.of("ключ", "ключ"));
  }

  @ParameterizedTest
  @MethodSource("keys")
  void aKeyMayBeQuotedOrBare(String line, String key) throws KeyRefusedException {
    assertThat(read(line)).isEqualTo(key);
  }

  static Stream<Arguments> refused() {
    return Stream.of(
        Arguments.of(List.of("a", "a"), ErrorCode.KEY_HEADER_INVALID),
        Arguments.of(List.of("a, b"), ErrorCode.KEY_HEADER_INVALID),
        Arguments.of(List.of("\"a\", \"b\""), ErrorCode.KEY_HEADER_INVALID),
        Arguments.of(List.of("\"a\";x=1"), ErrorCode.KEY_HEADER_INVALID),
        Arguments.of(List.of("\"a"), ErrorCode.KEY_HEADER_INVALID),
        Arguments.of(List.of("\""), ErrorCode.KEY_HEADER_INVALID),
        Arguments.of(List.of("a\"b"), ErrorCode.KEY_HEADER_INVALID),
        Arguments.of(List.of("\"a\\b\""), ErrorCode.KEY_HEADER_INVALID),
        Arguments.of(List.of("\"a\\"), ErrorCode.KEY_HEADER_INVALID),
        Arguments.of(List.of("\"a\\\""), ErrorCode.KEY_HEADER_INVALID),
        Arguments.of(List.of(""), ErrorCode.ID_MISSING),
        Arguments.of(List.of("\"\""), ErrorCode.ID_MISSING),
        Arguments.of(List.of("\"  \""), ErrorCode.ID_BLANK),
        Arguments.of(List.of("x".repeat(201)), ErrorCode.ID_TOO_LONG),
        Arguments.of(List.of("a\0b"), ErrorCode.ID_CONTROL_CHARACTER),
        Arguments.of(List.of("\"a\tb\""), ErrorCode.ID_CONTROL_CHARACTER),
        Arguments.of(List.of("a\ud83d"), ErrorCode.ID_INVALID_UNICODE));
  }

  @ParameterizedTest
  @MethodSource("refused")
  void whatIsNoKeyIsRefused(List<String> lines, ErrorCode code) {
    assertThatExceptionOfType(KeyRefusedException.class)
        .isThrownBy(() -> KeyHeader.read(lines))
        .satisfies(e -> assertThat(e.code).isEqualTo(code));
  }

  @Test
  void aKeyHasUpTo200Characters() throws KeyRefusedException {
    String longest = "\ud83d\ude00".repeat(200);
    assertThat(read(longest)).isEqualTo(longest);
  }
}
