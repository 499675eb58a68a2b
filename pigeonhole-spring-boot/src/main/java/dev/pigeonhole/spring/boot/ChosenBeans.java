package dev.pigeonhole.spring.boot;

import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.ErrorCode;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.transaction.PlatformTransactionManager;

/** Which DataSource and which transaction manager, of those that there are. */
final class ChosenBeans {
  private final ListableBeanFactory beans;
  private final ObjectProvider<DataSource> ourSource;
  private final ObjectProvider<DataSource> sources;
  private final ObjectProvider<PlatformTransactionManager> ourManager;
  private final ObjectProvider<PlatformTransactionManager> managers;

  ChosenBeans(
      ListableBeanFactory beans,
      ObjectProvider<DataSource> ourSource,
      ObjectProvider<DataSource> sources,
      ObjectProvider<PlatformTransactionManager> ourManager,
      ObjectProvider<PlatformTransactionManager> managers) {
    this.beans = beans;
    this.ourSource = ourSource;
    this.sources = sources;
    this.ourManager = ourManager;
    this.managers = managers;
  }

  DataSource dataSource() {
    DataSource marked = ourSource.getIfUnique();
    return marked != null
        ? marked
        : only(sources.getIfUnique(), DataSource.class, PigeonholeDataSource.class);
  }

  PlatformTransactionManager transactionManager() {
    PlatformTransactionManager marked = ourManager.getIfUnique();
    return marked != null
        ? marked
        : only(
            managers.getIfUnique(),
            PlatformTransactionManager.class,
            PigeonholeTransactionManager.class);
  }

  private <T> T only(@Nullable T unique, Class<T> type, Class<?> mark) {
    if (unique != null) {
      return unique;
    }
    List<String> names = Stream.of(beans.getBeanNamesForType(type, true, false)).sorted().toList();
    throw new ConfigurationException(
        ErrorCode.BEANS_AMBIGUOUS,
        names.isEmpty()
            ? "There is no bean of %s. Pigeonhole needs one: add spring-boot-starter-jdbc, or declare it."
                .formatted(type.getSimpleName())
            : "There are %d beans of %s: %s. Mark the one for Pigeonhole with @%s, or make one @Primary."
                .formatted(
                    names.size(),
                    type.getSimpleName(),
                    names.stream().collect(Collectors.joining(", ")),
                    mark.getSimpleName()));
  }
}
