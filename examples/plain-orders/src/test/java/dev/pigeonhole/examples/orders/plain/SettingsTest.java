package dev.pigeonhole.examples.orders.plain;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.pigeonhole.support.JavaProcess;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A slip on the command line is answered in a line, not with a stack trace. */
class SettingsTest {

  @Test
  void whatIsUnknownIsRefusedWithWhatThereIs() {
    assertRefused("--prot=80", "there is no setting '--prot=80'; say --name=value, with one of");
  }

  @Test
  void whatIsNoPortIsRefused() {
    assertRefused("--port=65536", "--port needs a number from 0 to 65535, not '65536'");
  }

  @ParameterizedTest
  @ValueSource(strings = {"--port=http", "--port=80.5", "--port=-1", "--port="})
  void aPortIsAWholeNumber(String setting) {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Settings.of(setting))
        .withMessageStartingWith("--port needs a number from 0 to 65535, not '");
  }

  @ParameterizedTest
  @ValueSource(strings = {"0", "0.0", "-1", "NaN", "fast"})
  void nothingIsReservedAtNoRate(String rate) {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Settings.of("--stock-per-second=" + rate))
        .withMessage("--stock-per-second needs a number above 0, not '%s'", rate);
  }

  @Test
  void whatIsSaidIsUsed() {
    Settings settings = Settings.of("--port=0", "--stock-per-second=0.5", "--user=ada");
    assertThat(settings.port()).isZero();
    assertThat(settings.stockPerSecond()).isEqualTo(0.5);
    assertThat(settings.user()).isEqualTo("ada");
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
