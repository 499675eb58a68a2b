package dev.pigeonhole.spring.boot;

import dev.pigeonhole.outbox.Outbox;
import java.util.function.Function;
import javax.sql.DataSource;
import org.springframework.beans.factory.InitializingBean;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.boot.jdbc.EmbeddedDatabaseConnection;
import org.springframework.boot.sql.init.DatabaseInitializationMode;
import org.springframework.util.ClassUtils;

/**
 * Creates and migrates the tables, after Flyway, Liquibase and scripts, and before any bean that
 * needs a database that is ready. Any number of nodes may start at once.
 */
final class PigeonholeSchemaInitializer implements InitializingBean {
  private static final boolean OUTBOX_PRESENT =
      ClassUtils.isPresent(
          "dev.pigeonhole.outbox.Outbox", PigeonholeSchemaInitializer.class.getClassLoader());

  private final Function<PlannedInbox, DataSource> dataSource;
  private final PigeonholeProperties properties;
  private final ListableBeanFactory beans;

  PigeonholeSchemaInitializer(
      Function<PlannedInbox, DataSource> dataSource,
      PigeonholeProperties properties,
      ListableBeanFactory beans) {
    this.dataSource = dataSource;
    this.properties = properties;
    this.beans = beans;
  }

  @Override
  public void afterPropertiesSet() {
    DatabaseInitializationMode mode = properties.jdbc().initializeSchema();
    if (mode == DatabaseInitializationMode.NEVER) {
      return;
    }
    for (PlannedInbox each : properties.planned()) {
      DataSource source = dataSource.apply(each);
      if (mode == DatabaseInitializationMode.ALWAYS
          || EmbeddedDatabaseConnection.isEmbedded(source)) {
        migrate(each, source);
      }
    }
  }

  private void migrate(PlannedInbox inbox, DataSource source) {
    inbox.schema("").applyTo(source);
    if (properties.outbox().enabled() || hasOwnOutbox()) {
      inbox.schema("out_").applyTo(source);
    }
  }

  /** Beside several inboxes an outbox is a bean, which does not say beforehand where it is. */
  private boolean hasOwnOutbox() {
    return OUTBOX_PRESENT
        && !properties.inboxes().isEmpty()
        && beans.getBeanNamesForType(Outbox.class, true, false).length > 0;
  }
}
