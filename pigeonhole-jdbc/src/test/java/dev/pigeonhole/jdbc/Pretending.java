package dev.pigeonhole.jdbc;

import dev.pigeonhole.support.Proxies;
import java.lang.reflect.Method;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import javax.sql.DataSource;

/** A data source in front of a real one that changes what passes on its way. */
final class Pretending {

  /** What is done instead of a call; {@link Call#go()} does it as it was meant. */
  @FunctionalInterface
  interface Twist {
    Object apply(Call call) throws Throwable;
  }

  /** A call of a connection. */
  record Call(Connection connection, Method method, Object[] args) {
    String name() {
      return method.getName();
    }

    Object go() throws Throwable {
      return Proxies.call(connection, method, args);
    }
  }

  private Pretending() {}

  /** All calls of connections go through the twist. */
  static DataSource twisted(DataSource real, Twist twist) {
    return Proxies.proxy(
        DataSource.class,
        (source, called, args) -> {
          Object result = Proxies.call(real, called, args);
          return result instanceof Connection connection
              ? Proxies.proxy(
                  Connection.class,
                  (self, method, values) -> twist.apply(new Call(connection, method, values)))
              : result;
        });
  }

  /** Statements that contain a text are sent with another one in its place. */
  static DataSource rewriting(DataSource real, String text, String instead) {
    return twisted(
        real,
        call -> {
          if (call.name().equals("prepareStatement")) {
            call.args()[0] = ((String) call.args()[0]).replace(text, instead);
          }
          return call.go();
        });
  }

  /** The database claims to be another product. */
  static DataSource product(DataSource real, String name) {
    return twisted(
        real,
        call -> {
          Object result = call.go();
          return result instanceof DatabaseMetaData data
              ? Proxies.proxy(
                  DatabaseMetaData.class,
                  (self, method, args) ->
                      method.getName().equals("getDatabaseProductName")
                          ? name
                          : Proxies.call(data, method, args))
              : result;
        });
  }
}
