package dev.pigeonhole.examples.demo;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.Acceptance;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.Failure;
import dev.pigeonhole.MessageRef;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class AnswerTest {
  private static final MessageRef ORDER = new MessageRef("orders", "order-1");

  private static Answer unfinished(Map<String, ErrorCode> failures) {
    Map<String, Failure> all = new HashMap<>();
    failures.forEach((key, code) -> all.put(key, new Failure(code, "", "", "", "", Instant.EPOCH)));
    return Answer.of(new Acceptance.Unfinished(ORDER, all));
  }

  @Test
  void aCopyThatWaitedInVainHasNotFailed() {
    assertThat(unfinished(Map.of("a", ErrorCode.GUARD_BUSY)).kind()).isEqualTo(Answer.Kind.BUSY);
    assertThat(unfinished(Map.of("a", ErrorCode.GUARD_BUSY, "b", ErrorCode.HANDLER_FAILED)))
        .isEqualTo(new Answer(Answer.Kind.UNFINISHED, List.of("b")));
  }

  @Test
  void anAnswerIsReadAsItWasSaid() {
    for (Answer answer :
        List.of(
            Answer.of(new Acceptance.Accepted(ORDER)),
            unfinished(Map.of("b", ErrorCode.HANDLER_FAILED, "a", ErrorCode.HANDLER_FAILED)))) {
      assertThat(Answer.ofWord(answer.toWord())).isEqualTo(answer);
      assertThat(answer.toWord()).doesNotContain(" ");
    }
  }
}
