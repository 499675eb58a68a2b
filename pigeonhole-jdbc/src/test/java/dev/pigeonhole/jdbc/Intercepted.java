package dev.pigeonhole.jdbc;

import dev.pigeonhole.support.Proxies;
import java.sql.Connection;
import java.util.function.Consumer;
import javax.sql.DataSource;

/** Data sources that let a test act at a moment that it could not meet otherwise. */
final class Intercepted {
  private Intercepted() {}

  /** Runs this before each connection is handed out. */
  static DataSource beforeConnecting(DataSource target, Runnable action) {
    return proxy(
        DataSource.class,
        target,
        (method, arguments) -> {
          if (method.equals("getConnection")) {
            action.run();
          }
        });
  }

  /** Runs this with each statement before it is prepared. */
  static DataSource beforeStatements(DataSource target, Consumer<String> action) {
    return Proxies.proxy(
        DataSource.class,
        (self, method, args) -> {
          Object result = Proxies.call(target, method, args);
          return result instanceof Connection connection
              ? proxy(
                  Connection.class,
                  connection,
                  (name, arguments) -> {
                    if (name.equals("prepareStatement")) {
                      action.accept((String) arguments[0]);
                    }
                  })
              : result;
        });
  }

  private interface Before {
    void call(String method, Object[] arguments);
  }

  private static <T> T proxy(Class<T> type, T target, Before before) {
    return Proxies.proxy(
        type,
        (self, method, args) -> {
          before.call(method.getName(), args);
          return Proxies.call(target, method, args);
        });
  }
}
