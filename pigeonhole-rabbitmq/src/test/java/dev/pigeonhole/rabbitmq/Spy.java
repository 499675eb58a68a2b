package dev.pigeonhole.rabbitmq;

import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import com.rabbitmq.client.ConnectionFactory;
import com.rabbitmq.client.DeliverCallback;
import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeoutException;

/** A factory of real connections that writes down what is acknowledged, where, and by whom. */
final class Spy extends ConnectionFactory {

  /**
   * One acknowledgement.
   *
   * @param known whether its number was delivered over that very channel
   */
  record Ack(String thread, boolean known, boolean multiple) {}

  private final List<Ack> acks = new ArrayList<>(); // guarded by itself, and shared by copies

  Spy(ConnectionFactory like) {
    setHost(like.getHost());
    setPort(like.getPort());
  }

  List<Ack> acks() {
    synchronized (acks) {
      return List.copyOf(acks);
    }
  }

  @Override
  public Connection newConnection(String name) throws IOException, TimeoutException {
    Connection real = super.newConnection(name);
    return proxy(
        Connection.class,
        real,
        (method, arguments) -> {
          Object result = method.invoke(real, arguments);
          return result instanceof Channel channel ? watched(channel) : result;
        });
  }

  private Channel watched(Channel real) {
    Set<Long> delivered = ConcurrentHashMap.newKeySet();
    return proxy(
        Channel.class,
        real,
        (method, arguments) -> {
          if (method.getName().equals("basicAck")) {
            synchronized (acks) {
              acks.add(
                  new Ack(
                      Thread.currentThread().getName(),
                      delivered.contains((Long) arguments[0]),
                      (Boolean) arguments[1]));
            }
          }
          for (int i = 0; arguments != null && i < arguments.length; i++) {
            if (arguments[i] instanceof DeliverCallback callback) {
              arguments[i] =
                  (DeliverCallback)
                      (tag, delivery) -> {
                        delivered.add(delivery.getEnvelope().getDeliveryTag());
                        callback.handle(tag, delivery);
                      };
            }
          }
          return method.invoke(real, arguments);
        });
  }

  private interface Call {
    Object on(Method method, Object[] arguments) throws ReflectiveOperationException;
  }

  private static <T> T proxy(Class<T> type, T real, Call call) {
    return type.cast(
        Proxy.newProxyInstance(
            type.getClassLoader(),
            new Class<?>[] {type},
            (self, method, arguments) -> {
              try {
                return call.on(method, arguments);
              } catch (InvocationTargetException e) {
                throw e.getCause();
              }
            }));
  }
}
