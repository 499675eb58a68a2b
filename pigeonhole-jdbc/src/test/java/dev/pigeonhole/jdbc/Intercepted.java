package dev.pigeonhole.jdbc;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
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
    return (DataSource)
        Proxy.newProxyInstance(
            Intercepted.class.getClassLoader(),
            new Class<?>[] {DataSource.class},
            (self, method, args) -> {
              Object result = invoke(target, method, args);
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
    return type.cast(
        Proxy.newProxyInstance(
            Intercepted.class.getClassLoader(),
            new Class<?>[] {type},
            (self, method, args) -> {
              before.call(method.getName(), args);
              return invoke(target, method, args);
            }));
  }

  private static Object invoke(Object target, Method method, Object[] args) throws Throwable {
    try {
      return method.invoke(target, args);
    } catch (InvocationTargetException e) {
      throw e.getCause();
    }
  }
}
