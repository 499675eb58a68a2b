package dev.pigeonhole.spring.boot;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.Inbox;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.h2console.autoconfigure.H2ConsoleAutoConfiguration;
import org.springframework.boot.jackson.autoconfigure.JacksonAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.DataSourceTransactionManagerAutoConfiguration;
import org.springframework.boot.test.context.runner.WebApplicationContextRunner;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.boot.transaction.autoconfigure.TransactionAutoConfiguration;

/** The web console of H2, in front of the tables of an inbox. */
@ExtendWith(OutputCaptureExtension.class)
class H2ConsoleTest {
  private static final String WARNING = "The web console of H2 is on";

  private static WebApplicationContextRunner runner() {
    return new WebApplicationContextRunner()
        .withConfiguration(
            AutoConfigurations.of(
                DataSourceAutoConfiguration.class,
                DataSourceTransactionManagerAutoConfiguration.class,
                TransactionAutoConfiguration.class,
                JacksonAutoConfiguration.class,
                H2ConsoleAutoConfiguration.class,
                PigeonholeCodecAutoConfiguration.class,
                PigeonholeSourcesAutoConfiguration.class,
                PigeonholeAutoConfiguration.class))
        .withUserConfiguration(AutoConfigurationTest.Handling.class)
        .withPropertyValues(
            "spring.datasource.url=jdbc:h2:mem:%s;DB_CLOSE_DELAY=-1".formatted(UUID.randomUUID()),
            "pigeonhole.inbox.background-processing=false");
  }

  @Test
  void hx06_theConsoleIsNotSwitchedOnByUs(CapturedOutput output) {
    runner()
        .run(
            context ->
                assertThat(context)
                    .hasNotFailed()
                    .hasSingleBean(Inbox.class)
                    .doesNotHaveBean("h2Console"));
    assertThat(output).doesNotContain(WARNING);
  }

  @Test
  void hx06_aConsoleThatIsOnIsWarnedOf(CapturedOutput output) {
    runner()
        .withPropertyValues("spring.h2.console.enabled=true")
        .run(context -> assertThat(context).hasNotFailed().hasBean("h2Console"));
    assertThat(output).containsOnlyOnce(WARNING).contains("spring.h2.console.enabled");
  }
}
