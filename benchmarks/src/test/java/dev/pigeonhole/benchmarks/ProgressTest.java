package dev.pigeonhole.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;

class ProgressTest {

  private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();

  private Progress progress(boolean terminal) {
    Progress progress =
        new Progress(new PrintStream(bytes, true, StandardCharsets.UTF_8), terminal);
    progress.expect(1_000);
    return progress;
  }

  private String shown() {
    return bytes.toString(StandardCharsets.UTF_8);
  }

  @Test
  void withoutATerminalEverythingThatHasEndedIsALine() {
    Progress progress = progress(false);
    progress.begin("guard, floor", 250);
    progress.tick();
    progress.end("5,000 msg/s");
    progress.say("%d left", 3);
    assertThat(shown().lines()).containsExactly(" 25%  guard, floor: 5,000 msg/s", "3 left");
  }

  @Test
  void onATerminalABarStandsInOneLineThatFits() {
    Progress progress = progress(true);
    progress.begin("a scenario with a name that is much too long for any line there is", 500);
    progress.end("fine");
    progress.tick();
    String bar = shown().substring(shown().lastIndexOf('\r') + 4);
    assertThat(bar).startsWith("[######......]  50%").hasSizeLessThanOrEqualTo(80);
    assertThat(shown()).doesNotContain("\n");
  }

  @Test
  void silenceIsSilence() {
    Progress progress = progress(false);
    progress.silence();
    progress.say("too late");
    assertThat(shown()).isEmpty();
  }
}
