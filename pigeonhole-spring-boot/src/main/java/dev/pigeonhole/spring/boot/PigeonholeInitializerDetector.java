package dev.pigeonhole.spring.boot;

import java.util.Set;
import org.springframework.boot.sql.init.dependency.AbstractBeansOfTypeDatabaseInitializerDetector;
import org.springframework.boot.sql.init.dependency.DatabaseInitializerDetector;
import org.springframework.core.Ordered;

/** Lets beans that need a ready database wait for our tables, which wait for all others. */
final class PigeonholeInitializerDetector extends AbstractBeansOfTypeDatabaseInitializerDetector
    implements DatabaseInitializerDetector {

  @Override
  protected Set<Class<?>> getDatabaseInitializerBeanTypes() {
    return Set.of(PigeonholeSchemaInitializer.class);
  }

  @Override
  public int getOrder() {
    return Ordered.LOWEST_PRECEDENCE;
  }
}
