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
import java.util.NavigableMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.TimeoutException;
import java.util.function.Predicate;

/** A factory of real connections that writes down what is acknowledged, where, and by whom. */
final class Spy extends ConnectionFactory {

  /**
   * One acknowledgement.
   *
   * @param ids of the messages that it is for, in their order; none if its number is not one that
   *     waits for an acknowledgement on that very channel
   * @param untaken those of them that nobody had taken yet
   */
  record Ack(String thread, List<String> ids, List<String> untaken) {}

  private final List<Ack> acks = new ArrayList<>(); // guarded by itself, and shared by copies

  private final Predicate<String> taken;

  /**
   * @param taken whether a message of this id may be acknowledged
   */
  Spy(ConnectionFactory like, Predicate<String> taken) {
    this.taken = taken;
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
    NavigableMap<Long, String> unacknowledged = new ConcurrentSkipListMap<>();
    return proxy(
        Channel.class,
        real,
        (method, arguments) -> {
          if (method.getName().equals("basicAck")) {
            note(unacknowledged, (Long) arguments[0], (Boolean) arguments[1]);
          }
          for (int i = 0; arguments != null && i < arguments.length; i++) {
            if (arguments[i] instanceof DeliverCallback callback) {
              arguments[i] =
                  (DeliverCallback)
                      (tag, delivery) -> {
                        unacknowledged.put(
                            delivery.getEnvelope().getDeliveryTag(),
                            delivery.getProperties().getMessageId());
                        callback.handle(tag, delivery);
                      };
            }
          }
          return method.invoke(real, arguments);
        });
  }

  /** As the broker reads it. */
  private void note(NavigableMap<Long, String> unacknowledged, long number, boolean multiple) {
    List<String> ids = List.of();
    if (unacknowledged.containsKey(number)) {
      NavigableMap<Long, String> meant =
          unacknowledged.subMap(multiple ? 1 : number, true, number, true);
      ids = List.copyOf(meant.values());
      meant.clear();
    }
    List<String> untaken = ids.stream().filter(taken.negate()).toList();
    synchronized (acks) {
      acks.add(new Ack(Thread.currentThread().getName(), ids, untaken));
    }
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
