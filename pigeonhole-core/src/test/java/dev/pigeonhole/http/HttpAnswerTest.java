package dev.pigeonhole.http;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class HttpAnswerTest {

  @Test
  void headersAreFoundInEveryCaseAndKeepAllTheirLines() {
    HttpAnswer answer =
        HttpAnswer.of(200, "text/plain", "hi").with("Link", "<a>").with("link", "<b>");

    assertThat(answer.header("CONTENT-TYPE")).hasValue("text/plain");
    assertThat(answer.headers().get("LINK")).containsExactly("<a>", "<b>");
    assertThat(answer.header("Location")).isEmpty();
  }

  @Test
  void whatWasGivenInCannotChangeIt() {
    byte[] body = {1, 2};
    HttpAnswer answer = HttpAnswer.of(200, "image/png", body);
    body[0] = 9;
    answer.body()[0] = 9;

    assertThat(answer.body()).containsExactly(1, 2);
    assertThat(answer).isEqualTo(HttpAnswer.of(200, "image/png", new byte[] {1, 2}));
    assertThat(answer).hasSameHashCodeAs(HttpAnswer.of(200, "image/png", new byte[] {1, 2}));
    assertThat(answer).isNotEqualTo(HttpAnswer.of(200, "image/png", new byte[] {1, 3}));
    assertThat(answer).hasToString("200 with 2 bytes");
  }

  @ParameterizedTest
  @ValueSource(ints = {-1, 0, 100, 199, 600})
  void aStatusThatEndsNoRequestIsRefused(int status) {
    assertThatIllegalArgumentException().isThrownBy(() -> HttpAnswer.of(status));
  }

  @ParameterizedTest
  @ValueSource(strings = {"a\r\nSet-Cookie: b", "a\nb", "a\0b", "a\u007f", "\ud83d"})
  void aHeaderThatWouldNotArriveAsItIsIsRefused(String value) {
    assertThatIllegalArgumentException().isThrownBy(() -> HttpAnswer.of(200).with("X", value));
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "a b", "a:", "ü", "a\n"})
  void aNameThatIsNoneIsRefused(String name) {
    assertThatIllegalArgumentException().isThrownBy(() -> HttpAnswer.of(200).with(name, "x"));
  }

  @Test
  void aCallShowsNothingSecretAndFindsHeadersInEveryCase() {
    HttpCall call =
        new HttpCall("POST", "/p?x=1", Map.of("AUTHORIZATION", List.of("secret")), new byte[] {7});

    assertThat(call).hasToString("POST /p?x=1");
    assertThat(call.headers().get("Authorization")).containsExactly("secret");
  }
}
