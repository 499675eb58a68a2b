package dev.pigeonhole.spring.boot;

import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.jdbc.JdbcStore;
import org.springframework.beans.factory.config.BeanFactoryPostProcessor;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Conditional;

/**
 * Refuses an outbox that somebody asks for and that has no database. It stands alone because a test
 * of single handlers, in memory, has the properties of an application with a database, and leaves
 * this out.
 */
@AutoConfiguration(after = PigeonholeAutoConfiguration.class)
@ConditionalOnProperty("pigeonhole.outbox.enabled")
@ConditionalOnMissingBean(JdbcStore.class)
@Conditional(NamedInboxes.Absent.class)
public final class PigeonholeOutboxNowhereAutoConfiguration {

  PigeonholeOutboxNowhereAutoConfiguration() {}

  @Bean
  static BeanFactoryPostProcessor pigeonholeOutboxNowhere() {
    return beans -> {
      throw new ConfigurationException(
          ErrorCode.TRANSPORT_MISSING,
          "pigeonhole.outbox.enabled is true, and there is no bean of DataSource or JdbcStore: what"
              + " is published commits with what else the application writes to its database. Add"
              + " spring-boot-starter-jdbc and spring.datasource.url, or declare one; a bean of"
              + " InboxStore of another kind has no transactions for an outbox.");
    };
  }
}
