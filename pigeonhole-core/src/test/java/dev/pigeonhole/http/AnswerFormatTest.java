package dev.pigeonhole.http;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.InboxException;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class AnswerFormatTest {
  private static final HttpAnswer ANSWER =
      HttpAnswer.of(201, "text/plain", new byte[] {0, -1, 10})
          .with("Link", "<ä>")
          .with("Link", "<b>");

  @Test
  void whatIsWrittenIsReadByteForByte() {
    assertThat(AnswerFormat.read(AnswerFormat.write(ANSWER, Set.of("Content-Type", "Link"))))
        .isEqualTo(ANSWER);
    HttpAnswer empty = HttpAnswer.of(204);
    assertThat(AnswerFormat.read(AnswerFormat.write(empty, Set.of()))).isEqualTo(empty);
  }

  @Test
  void headersThatWereNotChosenAreLeftOut() {
    assertThat(AnswerFormat.read(AnswerFormat.write(ANSWER, Set.of("Link"))).headers())
        .containsOnlyKeys("Link");
  }

  @Test
  void theStoredFormNeverChanges() {
    byte[] stored =
        AnswerFormat.write(HttpAnswer.of(201, "a/b", new byte[] {1, 2}), Set.of("Content-Type"));
    assertThat(HexFormat.of().formatHex(stored))
        .isEqualTo(
            "01"
                + "00c9"
                + "00000001"
                + "0000000c"
                + "436f6e74656e742d54797065"
                + "00000003"
                + "612f62"
                + "00000002"
                + "0102");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "", // nothing
        "02", // another form
        "01", // no status
        "01006400000000" + "00000000", // status 100
        "0100c8ffffffff" + "00000000", // a negative number of lines
        "0100c87fffffff" + "00000000", // more lines than there are
        "0100c800000001" + "00000001" + "0a" + "00000000" + "00000000", // no name of a header
        "0100c800000000" + "ffffffff", // a negative length
        "0100c800000000" + "7fffffff", // beyond the end
        "0100c800000000" + "00000000" + "00" // more than the body
      })
  void whatIsNoAnswerIsToldApart(String hex) {
    refused(HexFormat.of().parseHex(hex));
  }

  @Test
  void everyAnswerThatWasCutIsToldApart() {
    byte[] stored = AnswerFormat.write(ANSWER, Set.of("Content-Type", "Link"));
    for (int length = 0; length < stored.length; length++) {
      refused(Arrays.copyOf(stored, length));
    }
  }

  @Test
  void anythingElseIsReadOrRefused() {
    Random random = new Random(1);
    for (int i = 0; i < 10_000; i++) {
      byte[] bytes = AnswerFormat.write(ANSWER, Set.of("Content-Type", "Link"));
      bytes[random.nextInt(bytes.length)] = (byte) random.nextInt();
      try {
        AnswerFormat.read(bytes);
      } catch (InboxException e) {
        assertThat(e.code()).isEqualTo(ErrorCode.PAYLOAD_CORRUPT);
      }
    }
  }

  private static void refused(byte[] bytes) {
    assertThatExceptionOfType(InboxException.class)
        .isThrownBy(() -> AnswerFormat.read(bytes))
        .satisfies(e -> assertThat(e.code()).isEqualTo(ErrorCode.PAYLOAD_CORRUPT))
        .withMessageContaining("Nothing was run again");
  }
}
