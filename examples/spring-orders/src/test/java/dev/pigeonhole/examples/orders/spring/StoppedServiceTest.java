package dev.pigeonhole.examples.orders.spring;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.support.HttpService;
import dev.pigeonhole.support.JavaProcess;
import java.io.InputStream;
import java.nio.file.Path;
import java.util.Properties;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The service with its own file of H2, stopped as by Ctrl-C. */
class StoppedServiceTest {

  @Test
  void itsDatabaseIsThereUntilItHasStopped(@TempDir Path directory) throws Exception {
    String url = ownUrl().replace("./target", directory.toString());
    assertThat(url).contains(directory.toString());
    Path jar = ExecutableJar.current();
    try (HttpService service =
        new HttpService(
            port ->
                JavaProcess.ofJar(jar)
                    .heap("512m")
                    .args("--server.port=" + port, "--spring.datasource.url=" + url))) {
      service.start("/actuator/health/readiness");

      service.process().terminate();
      service.process().waitFor(SpringOrders.LONG);

      assertThat(String.join("\n", service.process().output()))
          .contains("Inbox inbox has stopped", "Inbox outbox has stopped")
          .doesNotContain("already closed");
    }
  }

  private static String ownUrl() throws Exception {
    Properties own = new Properties();
    try (InputStream file =
        OrdersApplication.class.getResourceAsStream("/application.properties")) {
      own.load(file);
    }
    return own.getProperty("spring.datasource.url", "");
  }
}
