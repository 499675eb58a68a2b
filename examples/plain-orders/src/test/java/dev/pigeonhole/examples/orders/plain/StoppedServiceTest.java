package dev.pigeonhole.examples.orders.plain;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.support.HttpService;
import dev.pigeonhole.support.JavaProcess;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The service with its own file of H2, stopped as by Ctrl-C. */
class StoppedServiceTest {

  @Test
  void itsDatabaseIsThereUntilItHasStopped(@TempDir Path directory) throws Exception {
    String url = Settings.of().url().replace("./target", directory.toString());
    assertThat(url).contains(directory.toString());
    try (HttpService service =
        new HttpService(
            port ->
                JavaProcess.of(PlainOrders.class)
                    .heap("256m")
                    .args("--port=" + port, "--url=" + url))) {
      service.start("/actuator/health");
      assertThat(
              service.post("/orders", "{\"id\":\"o-1\",\"customer\":\"ada\",\"cents\":1}").status())
          .isEqualTo(202);

      service.process().terminate();
      service.process().waitFor(Duration.ofMinutes(5));

      assertThat(String.join("\n", service.process().output()))
          .contains("Inbox inbox has stopped")
          .doesNotContain("already closed");
    }
  }
}
