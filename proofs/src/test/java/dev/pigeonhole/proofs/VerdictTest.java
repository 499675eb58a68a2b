package dev.pigeonhole.proofs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.proofs.Nemesis.Fault;
import java.util.List;
import java.util.Map;
import java.util.NavigableSet;
import java.util.TreeSet;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

/** What the proofs print must be true as well. */
class VerdictTest {

  @Test
  void aTakeoverIsCountedFromTheKillThatItAnswers() {
    assertThat(
            Verdict.takeoverMillis(
                List.of(kill(7, 1_000_000), kill(8, 2_000_000)),
                Map.of(7L, times(9_000_000), 8L, times(10_500_000))))
        .containsExactly(8_000L, 8_500L);
  }

  @Test
  void aPidThatIsUsedAgainIsAnotherProcess() {
    assertThat(
            Verdict.takeoverMillis(
                List.of(kill(7, 1_000_000), kill(7, 20_000_000)),
                Map.of(7L, times(9_000_000, 28_500_000))))
        .containsExactly(8_000L, 8_500L);
  }

  @Test
  void aDeathBeforeTheKillOrAfterTheNextOneBelongsToAnother() {
    List<Fault> faults = List.of(kill(7, 10_000_000), kill(7, 20_000_000));

    assertThat(Verdict.takeoverMillis(faults, Map.of(7L, times(2_000_000, 28_000_000))))
        .containsExactly(8_000L);
  }

  @Test
  void whoWasPausedOrIsNotYetMissedTookNoTime() {
    assertThat(
            Verdict.takeoverMillis(
                List.of(new Fault("pause", 7, 1_000_000, 2_000_000), kill(8, 1_000_000)),
                Map.of(7L, times(9_000_000))))
        .isEmpty();
  }

  private static Fault kill(long pid, long from) {
    return new Fault("kill", pid, from, Long.MAX_VALUE);
  }

  private static NavigableSet<Long> times(long... micros) {
    return new TreeSet<>(LongStream.of(micros).boxed().toList());
  }
}
