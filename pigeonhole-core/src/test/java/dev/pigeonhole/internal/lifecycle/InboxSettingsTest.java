package dev.pigeonhole.internal.lifecycle;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.ConfigurationException.Problem;
import dev.pigeonhole.ErrorCode;
import java.time.Duration;
import java.util.List;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class InboxSettingsTest {
  private static final Duration ENDLESS = Duration.ofSeconds(Long.MAX_VALUE);

  private static List<Problem> problems(Consumer<InboxSettings.Draft> change) {
    InboxSettings.Draft draft = new InboxSettings.Draft();
    change.accept(draft);
    return draft.problems();
  }

  private static String only(ErrorCode code, Consumer<InboxSettings.Draft> change) {
    List<Problem> problems = problems(change);
    assertThat(problems).extracting(Problem::code).containsExactly(code);
    return problems.get(0).text();
  }

  @Test
  void theDefaultsAreFineAndSafe() {
    InboxSettings settings = new InboxSettings.Draft().freeze();

    assertThat(problems(draft -> {})).isEmpty();
    assertThat(settings.lanes()).isEqualTo(64);
    assertThat(settings.beat()).isEqualTo(Duration.ofSeconds(2));
    assertThat(settings.deadAfter()).isEqualTo(Duration.ofSeconds(8));
    assertThat(settings.startLimit()).isEqualTo(Duration.ofSeconds(7));
    assertThat(settings.retry().maxAttempts()).isEqualTo(5);
    assertThat(settings.maxPayload()).isEqualTo(1_000_000);
    assertThat(settings.maxHeaders()).isEqualTo(200);
    assertThat(settings.maxHeaderBytes()).isEqualTo(65_536);
    assertThat(settings.holdUnknownKeys()).isEqualTo(Duration.ofMinutes(10));
    assertThat(settings.maxCrashes()).isEqualTo(3);
    assertThat(settings.restartDelay()).isEqualTo(Duration.ofSeconds(5));
    assertThat(settings.stopGrace()).isEqualTo(Duration.ofSeconds(25));
    assertThat(settings.maxBacklog()).isEqualTo(50_000);
    assertThat(settings.maxHandlerBacklog()).isEqualTo(10_000);
    assertThat(settings.concurrency()).isEqualTo(8);
    assertThat(settings.batchSize()).isEqualTo(500);
    assertThat(settings.pollMin()).isEqualTo(Duration.ofMillis(100));
    assertThat(settings.pollMax()).isEqualTo(Duration.ofSeconds(1));
  }

  @ParameterizedTest
  @CsvSource({
    "PT0S,PT8S",
    "PT-1S,PT8S",
    "PT2S,PT0S",
    "PT2S,PT-8S",
    "PT2S,PT5.999S",
    "PT0.009S,PT8S"
  })
  void clm05_d70_aNodeMustBeAbleToMissABeat(String beat, String deadAfter) {
    assertThat(
            only(
                ErrorCode.BEAT_INVALID,
                draft -> {
                  draft.beat = Duration.parse(beat);
                  draft.deadAfter = Duration.parse(deadAfter);
                }))
        .contains("three beats", Duration.parse(deadAfter).toString());
    assertThat(problems(draft -> draft.deadAfter = Duration.ofSeconds(6))).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(ints = {0, -1, 1_000_000, Integer.MIN_VALUE})
  void d74_aBatchHasARange(int size) {
    assertThat(only(ErrorCode.RANGE_INVALID, draft -> draft.batchSize = size))
        .contains("batchSize", String.valueOf(size), "from 1 to 10000");
  }

  @Test
  void everyNumberHasARange() {
    only(ErrorCode.RANGE_INVALID, draft -> draft.concurrency = 0);
    only(ErrorCode.RANGE_INVALID, draft -> draft.lanes = 0);
    only(ErrorCode.RANGE_INVALID, draft -> draft.lanes = 4_097);
    only(ErrorCode.RANGE_INVALID, draft -> draft.maxPayload = 0);
    only(ErrorCode.RANGE_INVALID, draft -> draft.maxHeaders = -1);
    only(ErrorCode.RANGE_INVALID, draft -> draft.maxHeaderBytes = -1);
    only(ErrorCode.RANGE_INVALID, draft -> draft.maxCrashes = 0);
  }

  @Test
  void d85_pollingWithoutAPauseIsRefused() {
    assertThat(only(ErrorCode.RANGE_INVALID, draft -> draft.pollMin = Duration.ZERO))
        .contains("polling", "PT0.001S");
    only(
        ErrorCode.RANGE_INVALID,
        draft -> {
          draft.pollMin = Duration.ofSeconds(2);
          draft.pollMax = Duration.ofSeconds(1);
        });
  }

  @Test
  void waitsAreNeitherNegativeNorEndless() {
    List<Consumer<InboxSettings.Draft>> wrong =
        List.of(
            draft -> draft.restartDelay = Duration.ofSeconds(-1),
            draft -> draft.stopGrace = Duration.ofSeconds(-1),
            draft -> draft.holdUnknownKeys = Duration.ofSeconds(-1),
            draft -> draft.restartDelay = ENDLESS,
            draft -> draft.stopGrace = ENDLESS,
            draft -> draft.holdUnknownKeys = ENDLESS,
            draft -> draft.pollMax = ENDLESS);
    wrong.forEach(change -> only(ErrorCode.RANGE_INVALID, change));
    only(ErrorCode.BEAT_INVALID, draft -> draft.beat = ENDLESS);
    only(ErrorCode.BEAT_INVALID, draft -> draft.deadAfter = ENDLESS);
    assertThat(problems(draft -> draft.holdUnknownKeys = Duration.ZERO)).isEmpty();
    assertThat(problems(draft -> draft.stopGrace = Duration.ZERO)).isEmpty();
  }

  @Test
  void allProblemsAreToldTogether() {
    assertThat(
            problems(
                draft -> {
                  draft.batchSize = 0;
                  draft.lanes = 0;
                  draft.deadAfter = Duration.ZERO;
                }))
        .hasSize(3);
  }
}
