package dev.pigeonhole.support;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import org.jspecify.annotations.Nullable;

/** Creates proxies of JDBC interfaces, and passes their calls on to the real objects. */
public final class Proxies {

  private Proxies() {}

  /** Creates an object of this interface whose calls go to the handler. */
  public static <T> T proxy(Class<T> type, InvocationHandler handler) {
    return type.cast(
        Proxy.newProxyInstance(Proxies.class.getClassLoader(), new Class<?>[] {type}, handler));
  }

  /** Calls the method of the target, and throws what the method throws. */
  public static @Nullable Object call(Object target, Method method, Object @Nullable [] args)
      throws Throwable {
    try {
      return method.invoke(target, args);
    } catch (InvocationTargetException e) {
      throw e.getCause() == null ? e : e.getCause();
    }
  }
}
