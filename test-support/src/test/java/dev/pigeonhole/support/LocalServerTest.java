package dev.pigeonhole.support;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

class LocalServerTest {

  private static final Duration LIMIT = Duration.ofMinutes(5);

  /** Runs, says something, and never answers. */
  private static final class SlowServer extends LocalServer {

    int starts;

    SlowServer() {
      super("slow", Signal.KILL);
    }

    @Override
    String title() {
      return "Slow";
    }

    @Override
    List<String> command() {
      starts++;
      return List.of("sh", "-c", "echo recovering 7 of 9 queues; exec sleep 600");
    }

    @Override
    Duration startLimit() {
      return Duration.ZERO;
    }

    @Override
    boolean answers() {
      Eventually.until("its word", LIMIT, () -> log().contains("queues"));
      return false;
    }

    private String log() {
      try {
        return Files.readString(home().resolve("server.log"));
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }

  @Test
  void aServerThatIsSlowToStartIsNotTakenForOneThatIsMissing() {
    SlowServer server = new SlowServer();
    assertThatThrownBy(server::initialiseAndLaunch)
        .isInstanceOf(AssertionError.class)
        .hasMessageStartingWith("Slow runs, but does not answer yet: the machine may be busy.")
        .hasMessageEndingWith("Its log ends with:\nrecovering 7 of 9 queues");
    assertThat(server.starts).as("another port would not help").isEqualTo(1);
  }
}
