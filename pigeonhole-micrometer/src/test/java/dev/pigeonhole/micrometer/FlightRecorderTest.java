package dev.pigeonhole.micrometer;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.Channel;
import dev.pigeonhole.PoisonException;
import dev.pigeonhole.support.JavaProcess;
import dev.pigeonhole.testkit.TestInbox;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import jdk.jfr.Configuration;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What Java Flight Recorder is told, where there is one. */
class FlightRecorderTest {

  /** Two messages, one of which is bad. */
  private static void work() {
    TestInbox inbox =
        TestInbox.of(
            Channel.named("c")
                .on(String.class)
                .handle(
                    "h",
                    text -> {
                      if (text.equals("bad")) {
                        throw new PoisonException("never");
                      }
                      if (text.equals("busy")) {
                        throw new IllegalStateException("not now");
                      }
                    })
                .build());
    inbox.receive("m1", "fine");
    inbox.receive("m2", "bad");
    inbox.receive("m3", "busy");
    inbox.drain();
  }

  @Test
  void attemptsAndPollsAreRecordedByDefault(@TempDir Path directory) throws Exception {
    Path file = directory.resolve("inbox.jfr");
    // As -XX:StartFlightRecording does, which says nothing of our events.
    try (Recording recording = new Recording(Configuration.getConfiguration("default"))) {
      recording.start();
      work();
      recording.stop();
      recording.dump(file);
    }
    List<RecordedEvent> events = RecordingFile.readAllEvents(file);

    assertThat(events)
        .filteredOn(each -> each.getEventType().getName().equals("pigeonhole.HandlerAttempt"))
        .extracting(
            each ->
                String.join(
                    " ",
                    each.getString("inbox"),
                    each.getString("handler"),
                    each.getString("type"),
                    each.getString("messageId"),
                    "" + each.getInt("attempt"),
                    each.getString("outcome")))
        .containsExactlyInAnyOrder(
            "inbox h String m1 1 completed",
            "inbox h String m2 1 poisoned",
            "inbox h String m3 1 retry"); // as the meters say it
    assertThat(
            events.stream()
                .filter(each -> each.getEventType().getName().equals("pigeonhole.Poll"))
                .mapToInt(each -> each.getInt("deliveries"))
                .sum())
        .isEqualTo(3);
  }

  /** Run in a JVM without it. */
  static final class WithoutRecorder {
    public static void main(String[] args) {
      work();
      System.out.println(
          "recorder: " + ModuleLayer.boot().findModule("jdk.jfr").isPresent() + ", all is well");
    }
  }

  @Test
  void aJvmWithoutFlightRecorderWorksAsWell() {
    try (JavaProcess process =
        JavaProcess.of(WithoutRecorder.class)
            .option("--limit-modules=java.base,java.sql,java.naming,java.management,java.xml")
            .start()) {
      process.awaitLine("recorder: false, all is well", Duration.ofMinutes(2));
      assertThat(process.waitFor(Duration.ofMinutes(5))).isZero();
    }
  }
}
