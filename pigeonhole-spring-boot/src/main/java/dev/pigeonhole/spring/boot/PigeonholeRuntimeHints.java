package dev.pigeonhole.spring.boot;

import java.util.List;
import org.jspecify.annotations.Nullable;
import org.springframework.aot.hint.RuntimeHints;
import org.springframework.aot.hint.RuntimeHintsRegistrar;

/** What a native image would leave out: the statements that make tables, and names of classes. */
final class PigeonholeRuntimeHints implements RuntimeHintsRegistrar {

  @Override
  public void registerHints(RuntimeHints hints, @Nullable ClassLoader classLoader) {
    hints.resources().registerPattern("pigeonhole/jdbc/schema/*/*.sql");
    // The store looks for them under the wrappers of a pool.
    for (String connection :
        List.of(
            "org.postgresql.jdbc.PgConnection",
            "org.mariadb.jdbc.Connection",
            "org.h2.jdbc.JdbcConnection")) {
      hints.reflection().registerTypeIfPresent(classLoader, connection);
    }
  }
}
