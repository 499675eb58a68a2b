package dev.pigeonhole.spring.boot;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.pigeonhole.spring.boot.Shop.Order;
import dev.pigeonhole.spring.boot.Shop.Orders;
import dev.pigeonhole.spring.boot.Shop.Receipt;
import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.Eventually;
import dev.pigeonhole.support.TestDatabase;
import dev.pigeonhole.support.TestDatabases;
import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.net.URL;
import java.net.URLClassLoader;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.core.io.DefaultResourceLoader;

/** An application that says nothing but where its database is. */
class RealRunTest {
  private static final Duration LONG = Duration.ofMinutes(5);

  @ParameterizedTest
  @EnumSource(DatabaseKind.class)
  void messagesAreHandledOnceInTheTransactionsOfTheApplicationAlsoAfterARestart(DatabaseKind kind) {
    try (TestDatabase database = TestDatabases.open(kind)) {
      createTables(database);
      try (ConfigurableApplicationContext context =
          run(database, "pigeonhole.inbox.background-processing=false")) {
        Orders orders = context.getBean(Orders.class);
        orders.place(new Order("o-1"), false);
        assertThatThrownBy(() -> orders.place(new Order("o-2"), true))
            .hasMessage("changed my mind");
        assertThat(orders.charge(new Order("o-1"))).isEqualTo(new Receipt("o-1", 7));
      }
      assertThat(database.count("SELECT count(*) FROM reserved")).isZero();

      try (ConfigurableApplicationContext context = run(database)) {
        Eventually.until(LONG, () -> database.count("SELECT count(*) FROM reserved") == 1);
        Orders orders = context.getBean(Orders.class);
        assertThat(orders.charge(new Order("o-1"))).isEqualTo(new Receipt("o-1", 7));
        orders.place(new Order("o-3"), false);
        Eventually.until(LONG, () -> database.count("SELECT count(*) FROM reserved") == 2);
      }
      assertThat(database.rows("SELECT order_id AS o FROM reserved ORDER BY order_id"))
          .extracting(row -> row.values().iterator().next())
          .containsExactly("o-1", "o-3");
      assertThat(database.count("SELECT count(*) FROM charged")).isEqualTo(1);
    }
  }

  /** As the developer tools of Spring Boot do it: all but the application's own classes stays. */
  @Test
  void aMessageOfTheClassesBeforeARestartIsHandledByThoseAfterIt() throws Exception {
    try (TestDatabase database = TestDatabases.open(DatabaseKind.H2)) {
      createTables(database);
      try (NewClasses before = new NewClasses();
          ConfigurableApplicationContext context =
              run(before.shop(), database, "pigeonhole.inbox.background-processing=false")) {
        before.place(context.getBean("orders"), "o-1");
      }
      try (NewClasses after = new NewClasses();
          ConfigurableApplicationContext context = run(after.shop(), database)) {
        Eventually.until(LONG, () -> database.count("SELECT count(*) FROM reserved") == 1);
        after.place(context.getBean("orders"), "o-2");
        Eventually.until(LONG, () -> database.count("SELECT count(*) FROM reserved") == 2);
      }
    }
  }

  /** Loads the application anew. */
  private static final class NewClasses extends URLClassLoader {
    NewClasses() {
      super(
          new URL[] {Shop.class.getProtectionDomain().getCodeSource().getLocation()},
          Shop.class.getClassLoader());
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
      if (!name.startsWith(Shop.class.getName())) {
        return super.loadClass(name, resolve);
      }
      synchronized (getClassLoadingLock(name)) {
        Class<?> known = findLoadedClass(name);
        return known == null ? findClass(name) : known;
      }
    }

    Class<?> shop() throws ClassNotFoundException {
      return loadClass(Shop.class.getName());
    }

    void place(Object orders, String id) throws ReflectiveOperationException {
      Class<?> type = loadClass(Order.class.getName());
      Constructor<?> order = type.getDeclaredConstructor(String.class);
      order.setAccessible(true);
      Method place = orders.getClass().getMethod("place", type, boolean.class);
      place.setAccessible(true);
      place.invoke(orders, order.newInstance(id), false);
    }
  }

  private static void createTables(TestDatabase database) {
    for (String table : List.of("orders (id", "reserved (order_id", "charged (order_id")) {
      database.execute("CREATE TABLE %s VARCHAR(20) PRIMARY KEY)".formatted(table));
    }
  }

  private static ConfigurableApplicationContext run(TestDatabase database, String... more) {
    return run(Shop.class, database, more);
  }

  private static ConfigurableApplicationContext run(
      Class<?> application, TestDatabase database, String... more) {
    List<String> properties =
        new ArrayList<>(
            List.of(
                "spring.datasource.url=" + database.jdbcUrl(),
                "spring.datasource.username=" + database.user(),
                "spring.datasource.password=" + database.password(),
                "spring.flyway.enabled=false",
                "spring.liquibase.enabled=false",
                "pigeonhole.jdbc.initialize-schema=always",
                "pigeonhole.inbox.beat=100ms",
                "pigeonhole.inbox.dead-after=2s"));
    properties.addAll(List.of(more));
    return new SpringApplicationBuilder(
            new DefaultResourceLoader(application.getClassLoader()), application)
        .web(WebApplicationType.NONE)
        .properties(properties.toArray(String[]::new))
        .run();
  }
}
