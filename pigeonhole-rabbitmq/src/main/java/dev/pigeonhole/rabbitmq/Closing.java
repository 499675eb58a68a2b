package dev.pigeonhole.rabbitmq;

import com.rabbitmq.client.AMQP;
import com.rabbitmq.client.Method;
import com.rabbitmq.client.ShutdownSignalException;

/** Why a broker has closed a channel or a connection. */
final class Closing {
  private Closing() {}

  /** By its code: the text has names of queues in it, which may be called anything. */
  static boolean isRefusedAccess(ShutdownSignalException shutdown) {
    Method reason = shutdown.getReason();
    if (reason instanceof AMQP.Channel.Close close) {
      return close.getReplyCode() == AMQP.ACCESS_REFUSED;
    }
    return reason instanceof AMQP.Connection.Close close
        && close.getReplyCode() == AMQP.ACCESS_REFUSED;
  }

  /** Whether the channel was closed because there is no such thing. */
  static boolean isNotFound(ShutdownSignalException shutdown) {
    return shutdown.getReason() instanceof AMQP.Channel.Close close
        && close.getReplyCode() == AMQP.NOT_FOUND;
  }
}
