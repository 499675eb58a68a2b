package dev.pigeonhole.rabbitmq;

import com.rabbitmq.client.AMQP;
import com.rabbitmq.client.Method;
import com.rabbitmq.client.ShutdownSignalException;
import java.util.OptionalLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Why a broker has closed a channel or a connection. */
final class Closing {
  private static final Method PUBLISH = new AMQP.Basic.Publish.Builder().build();
  private static final Pattern TOO_LARGE =
      Pattern.compile("message size [0-9]+ is larger than configured max size ([0-9]{1,18})");

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

  /**
   * How many bytes a body may have, if the channel was closed because of a larger one. Only the
   * text has the number; where it cannot be read, nothing is known.
   */
  static OptionalLong sizeLimit(ShutdownSignalException shutdown) {
    if (shutdown.getReason() instanceof AMQP.Channel.Close close
        && close.getReplyCode() == AMQP.PRECONDITION_FAILED
        && close.getClassId() == PUBLISH.protocolClassId()
        && close.getMethodId() == PUBLISH.protocolMethodId()) {
      Matcher limit = TOO_LARGE.matcher(close.getReplyText());
      if (limit.find()) {
        return OptionalLong.of(Long.parseLong(limit.group(1)));
      }
    }
    return OptionalLong.empty();
  }
}
