package dev.pigeonhole.spring.boot;

import java.util.function.Function;
import javax.sql.DataSource;
import org.springframework.beans.factory.InitializingBean;
import org.springframework.boot.jdbc.EmbeddedDatabaseConnection;
import org.springframework.boot.sql.init.DatabaseInitializationMode;

/**
 * Creates and migrates the tables, after Flyway, Liquibase and scripts, and before any bean that
 * needs a database that is ready. Any number of nodes may start at once.
 */
final class PigeonholeSchemaInitializer implements InitializingBean {
  private final Function<PlannedInbox, DataSource> dataSource;
  private final PigeonholeProperties properties;

  PigeonholeSchemaInitializer(
      Function<PlannedInbox, DataSource> dataSource, PigeonholeProperties properties) {
    this.dataSource = dataSource;
    this.properties = properties;
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
    if (properties.outbox().enabled()) {
      inbox.schema("out_").applyTo(source);
    }
  }
}
