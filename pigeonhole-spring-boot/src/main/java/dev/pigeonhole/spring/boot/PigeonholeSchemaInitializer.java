package dev.pigeonhole.spring.boot;

import dev.pigeonhole.jdbc.Schema;
import java.util.function.Supplier;
import javax.sql.DataSource;
import org.springframework.beans.factory.InitializingBean;
import org.springframework.boot.jdbc.EmbeddedDatabaseConnection;

/**
 * Creates and migrates the tables, after Flyway, Liquibase and scripts, and before any bean that
 * needs a database that is ready. Any number of nodes may start at once.
 */
final class PigeonholeSchemaInitializer implements InitializingBean {
  private final Supplier<DataSource> dataSource;
  private final PigeonholeProperties properties;

  PigeonholeSchemaInitializer(Supplier<DataSource> dataSource, PigeonholeProperties properties) {
    this.dataSource = dataSource;
    this.properties = properties;
  }

  @Override
  public void afterPropertiesSet() {
    switch (properties.jdbc().initializeSchema()) {
      case ALWAYS -> migrate(dataSource.get());
      case EMBEDDED -> {
        DataSource source = dataSource.get();
        if (EmbeddedDatabaseConnection.isEmbedded(source)) {
          migrate(source);
        }
      }
      case NEVER -> {}
    }
  }

  private void migrate(DataSource source) {
    String prefix = properties.jdbc().tablePrefix();
    schema(prefix).applyTo(source);
    if (properties.outbox().enabled()) {
      schema(prefix + "out_").applyTo(source);
    }
  }

  private Schema schema(String prefix) {
    Schema schema = Schema.ofDefaults().prefix(prefix);
    String database = properties.jdbc().databaseSchema();
    return database == null ? schema : schema.schema(database);
  }
}
