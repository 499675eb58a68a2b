package dev.pigeonhole.proofs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.proofs.Nemesis.Fault;
import dev.pigeonhole.proofs.Verdict.Incarnation;
import dev.pigeonhole.proofs.Verdict.Run;
import java.util.List;
import java.util.Map;
import java.util.NavigableSet;
import java.util.TreeSet;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

/** What the proofs say must be true as well. */
class VerdictTest {
  /**
   * A node joined at 100 and was buried at 300; 350 begins behind it, with the lane's next token.
   */
  private static final List<Incarnation> BURIED = List.of(life(7, 100, 300), life(8, 100));

  private static final Run NEXT = new Run(2, 8, 350, 360, 4);

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

  @Test
  void whatABuriedNodeHadBegunMayRunBesideItsSuccessor() {
    assertThat(inversions(BURIED, new Run(1, 7, 200, 400, 2), NEXT)).isEmpty();
    assertThat(inversions(BURIED, new Run(1, 7, 200, Long.MAX_VALUE, 2), NEXT)).isEmpty();
  }

  @Test
  void anOverlapThatNoTakeoverExplainsIsAnInversion() {
    Run run = new Run(1, 7, 200, 400, 2);
    assertThat(inversions(List.of(life(7, 100), life(8, 100)), run, NEXT))
        .as("nobody was buried")
        .hasSize(1);
    assertThat(inversions(List.of(life(7, 100), life(8, 100, 300)), run, NEXT))
        .as("another was buried")
        .hasSize(1);
    assertThat(inversions(List.of(life(7, 100, 355), life(8, 100)), run, NEXT))
        .as("buried after the successor had begun")
        .hasSize(1);
    assertThat(inversions(BURIED, run, new Run(2, 7, 350, 360, 2)))
        .as("in a lane that nobody has taken since")
        .hasSize(1);
    assertThat(inversions(List.of(life(7, 10, 50), life(7, 100), life(8, 10)), run, NEXT))
        .as("buried in an earlier life")
        .hasSize(1);
  }

  @Test
  void aFaultAloneExplainsNoOverlap() {
    List<Run> runs = List.of(new Run(1, 7, 200, Long.MAX_VALUE, 2), NEXT);

    assertThat(Verdict.inversions("k", runs, List.of(kill(7, 250)), List.of(life(7, 100))))
        .hasSize(1);
  }

  @Test
  void aStopMayCutWhatDoesNotReturn() {
    List<Run> runs = List.of(new Run(1, 7, 200, 400, 2), NEXT);
    Fault stop = new Fault("restart", 7, 250, Long.MAX_VALUE);

    assertThat(Verdict.inversions("k", runs, List.of(stop), List.of(life(7, 100)))).isEmpty();
  }

  @Test
  void whoKnowsThatItWasBuriedBeginsNothingInItsFormerLanes() {
    List<Incarnation> again = List.of(life(7, 100, 300), life(7, 500), life(8, 100));
    Run successor = new Run(1, 8, 350, 360, 4);

    assertThat(inversions(again, successor, new Run(1, 7, 490, 495, 2)))
        .as("it did not know yet")
        .isEmpty();
    assertThat(inversions(again, successor, new Run(1, 7, 510, 515, 2))).as("it knew").hasSize(1);
    assertThat(inversions(again, successor, new Run(1, 7, 510, 515, 5)))
        .as("it has taken the lane anew")
        .isEmpty();
  }

  private static List<String> inversions(List<Incarnation> incarnations, Run... runs) {
    return Verdict.inversions("k", List.of(runs), List.of(), incarnations);
  }

  private static Incarnation life(long pid, long joined) {
    return life(pid, joined, Incarnation.NEVER);
  }

  private static Incarnation life(long pid, long joined, long buried) {
    return new Incarnation(pid, joined, buried);
  }

  private static Fault kill(long pid, long from) {
    return new Fault("kill", pid, from, Long.MAX_VALUE);
  }

  private static NavigableSet<Long> times(long... micros) {
    return new TreeSet<>(LongStream.of(micros).boxed().toList());
  }
}
