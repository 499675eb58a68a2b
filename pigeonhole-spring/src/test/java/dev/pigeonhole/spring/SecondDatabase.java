package dev.pigeonhole.spring;

import dev.pigeonhole.jdbc.Schema;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import javax.sql.DataSource;
import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.PlatformTransactionManager;

/** A second database, with a manager of its own. */
@Configuration(proxyBeanMethods = false)
class SecondDatabase {
  @Bean(destroyMethod = "close")
  TestDatabase elsewhere() {
    TestDatabase other = TestDatabases.open(DatabaseKind.POSTGRES);
    Schema.migrate(other.dataSource());
    other.execute("CREATE TABLE note (order_id VARCHAR(20) NOT NULL)");
    return other;
  }

  @Bean(defaultCandidate = false)
  @Qualifier("second") DataSource secondDataSource(@Qualifier("elsewhere") TestDatabase elsewhere) {
    return elsewhere.pool(12);
  }

  @Bean(defaultCandidate = false)
  @Qualifier("second") PlatformTransactionManager secondManager(@Qualifier("second") DataSource dataSource) {
    return new JdbcTransactionManager(dataSource);
  }
}
