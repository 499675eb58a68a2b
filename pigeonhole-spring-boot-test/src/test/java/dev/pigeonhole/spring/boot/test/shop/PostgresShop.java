package dev.pigeonhole.spring.boot.test.shop;

import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import org.springframework.boot.jdbc.autoconfigure.JdbcConnectionDetails;
import org.springframework.boot.test.context.TestConfiguration;
import org.springframework.context.annotation.Bean;

/** A server that a test has started, as a container with {@code @ServiceConnection} is one. */
@TestConfiguration(proxyBeanMethods = false)
class PostgresShop {

  @Bean
  TestDatabase postgres() {
    TestDatabase database = TestDatabases.open(DatabaseKind.POSTGRES);
    database.execute("CREATE TABLE reserved (order_id VARCHAR(20) PRIMARY KEY)");
    database.execute("CREATE TABLE charged (order_id VARCHAR(20) PRIMARY KEY)");
    return database;
  }

  @Bean
  JdbcConnectionDetails connectionDetails(TestDatabase postgres) {
    return new JdbcConnectionDetails() {
      @Override
      public String getJdbcUrl() {
        return postgres.jdbcUrl();
      }

      @Override
      public String getUsername() {
        return postgres.user();
      }

      @Override
      public String getPassword() {
        return postgres.password();
      }
    };
  }
}
