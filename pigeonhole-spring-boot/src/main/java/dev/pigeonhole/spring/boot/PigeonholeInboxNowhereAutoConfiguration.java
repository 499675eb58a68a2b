package dev.pigeonhole.spring.boot;

import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.ConfigurationException.Problem;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.Inbox;
import java.util.ArrayList;
import java.util.List;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.context.annotation.Bean;

/**
 * Refuses options of channels and handlers where there is no inbox that could take them: somebody
 * believes that there is one. It stands alone because a test of single beans has the properties of
 * the whole application, and leaves this out.
 */
@AutoConfiguration(after = PigeonholeAutoConfiguration.class)
@ConditionalOnBean(PigeonholeProperties.class)
@ConditionalOnMissingBean(Inbox.class)
@ConditionalOnProperty(name = "pigeonhole.inbox.enabled", matchIfMissing = true)
public final class PigeonholeInboxNowhereAutoConfiguration {

  PigeonholeInboxNowhereAutoConfiguration() {}

  /** Once every bean is there: a handler that nobody could see is told first. */
  @Bean
  static SmartInitializingSingleton pigeonholeInboxNowhere(PigeonholeProperties properties) {
    return () -> {
      List<Problem> problems = new ArrayList<>();
      properties
          .channels()
          .keySet()
          .forEach(each -> problems.add(problem(ErrorCode.CHANNEL_UNKNOWN, "channels." + each)));
      properties
          .handlers()
          .keySet()
          .forEach(
              each -> problems.add(problem(ErrorCode.HANDLER_KEY_UNKNOWN, "handlers." + each)));
      if (!problems.isEmpty()) {
        throw new ConfigurationException(problems);
      }
    };
  }

  private static Problem problem(ErrorCode code, String property) {
    return new Problem(
        code,
        ("pigeonhole.%s: there is no inbox, because no bean has a method with @InboxHandler and none"
                + " is a Channel or a ChannelBuilder. Add what is missing, or remove the property.")
            .formatted(property));
  }
}
