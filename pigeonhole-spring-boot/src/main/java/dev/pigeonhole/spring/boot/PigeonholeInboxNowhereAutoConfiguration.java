package dev.pigeonhole.spring.boot;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.Inbox;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.context.annotation.Bean;

/**
 * Warns of options of channels and handlers where there is no inbox that could take them: somebody
 * believes that there is one. It does not refuse them, because a child context that is not there
 * yet may have it, and reads the same properties. It stands alone because a test of single beans
 * has the properties of the whole application, and leaves this out.
 */
@AutoConfiguration(after = PigeonholeAutoConfiguration.class)
@ConditionalOnBean(PigeonholeProperties.class)
@ConditionalOnMissingBean(Inbox.class)
@ConditionalOnProperty(name = "pigeonhole.inbox.enabled", matchIfMissing = true)
public final class PigeonholeInboxNowhereAutoConfiguration {
  private static final Logger LOG =
      LoggerFactory.getLogger(PigeonholeInboxNowhereAutoConfiguration.class);

  PigeonholeInboxNowhereAutoConfiguration() {}

  /** Once every bean is there: a handler that nobody could see is told first. */
  @Bean
  static SmartInitializingSingleton pigeonholeInboxNowhere(PigeonholeProperties properties) {
    return () -> {
      properties
          .channels()
          .keySet()
          .forEach(each -> warn(ErrorCode.CHANNEL_UNKNOWN, "channels." + each));
      properties
          .handlers()
          .keySet()
          .forEach(each -> warn(ErrorCode.HANDLER_KEY_UNKNOWN, "handlers." + each));
    };
  }

  private static void warn(ErrorCode code, String property) {
    LOG.warn(
        "{}: pigeonhole.{}: there is no inbox, because no bean has a method with @InboxHandler and"
            + " none is a Channel or a ChannelBuilder. Add what is missing, or remove the"
            + " property. If it is for a child context, nothing is missing.",
        code.text(),
        property);
  }
}
