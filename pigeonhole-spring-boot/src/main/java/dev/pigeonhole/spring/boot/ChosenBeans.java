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

  DataSource dataSource(PlannedInbox inbox) {
    String name = inbox.dataSource();
    return name == null
        ? dataSource()
        : named(name, DataSource.class, inbox.property() + ".data-source");
  }

  PlatformTransactionManager transactionManager(PlannedInbox inbox) {
    String name = inbox.transactionManager();
    return name == null
        ? transactionManager()
        : named(name, PlatformTransactionManager.class, inbox.property() + ".transaction-manager");
  }

  private <T> T named(String name, Class<T> type, String property) {
    if (!beans.containsBean(name) || !beans.isTypeMatch(name, type)) {
      throw new ConfigurationException(
          ErrorCode.BEANS_AMBIGUOUS,
          "%s is %s, and there is no bean of %s with that name. Known are: %s. Correct the name."
              .formatted(property, name, type.getSimpleName(), known(type)));
    }
    return beans.getBean(name, type);
  }

  private String known(Class<?> type) {
    String[] names = beans.getBeanNamesForType(type, true, false);
    return names.length == 0 ? "none" : Stream.of(names).sorted().collect(Collectors.joining(", "));
  }

  private DataSource dataSource() {
    DataSource marked = ourSource.getIfUnique();
    return marked != null
        ? marked
        : only(sources.getIfUnique(), DataSource.class, PigeonholeDataSource.class);
  }

  private PlatformTransactionManager transactionManager() {
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
