package dev.pigeonhole.examples.orders.plain;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.support.JavaProcess;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** A slip on the command line is answered in a line, not with a stack trace. */
class SettingsTest {

  @Test
  void whatIsUnknownIsRefusedWithWhatThereIs() {
    assertRefused("--prot=80", "there is no setting '--prot=80'; say --name=value, with one of");
  }

  @Test
  void whatIsNoNumberIsRefused() {
    assertRefused("--port=http", "--port needs a number, not 'http'");
  }

  @Test
  void helpNamesEverySetting() {
    try (JavaProcess process = JavaProcess.of(PlainOrders.class).args("--help").start()) {
      assertThat(process.waitFor(Duration.ofMinutes(5))).isZero();
      assertThat(String.join("\n", process.output()))
          .contains("--port=", "--url=", "--user=", "--password=", "--stock-per-second=");
    }
  }

  private static void assertRefused(String setting, String why) {
    try (JavaProcess process = JavaProcess.of(PlainOrders.class).args(setting).start()) {
      assertThat(process.waitFor(Duration.ofMinutes(5))).isEqualTo(2);
      assertThat(String.join("\n", process.output())).contains(why).doesNotContain("\tat ");
    }
  }
}
