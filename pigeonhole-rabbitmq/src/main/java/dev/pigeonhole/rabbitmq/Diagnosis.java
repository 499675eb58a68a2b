package dev.pigeonhole.rabbitmq;

import com.rabbitmq.client.AMQP;
import com.rabbitmq.client.Method;
import com.rabbitmq.client.PossibleAuthenticationFailureException;
import com.rabbitmq.client.ShutdownSignalException;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.InboxException;
import org.jspecify.annotations.Nullable;

/** What a failure of a consumer means for people: with a code, and what they can do. */
final class Diagnosis {
  private static final Method CONSUME = new AMQP.Basic.Consume.Builder().queue("").build();

  private Diagnosis() {}

  /** Of what has ended a consumer. */
  static String of(Throwable failure, Settings settings) {
    if (failure instanceof InboxException known) {
      return String.valueOf(known.getMessage()); // it says all that
    }
    ShutdownSignalException shutdown = shutdownIn(failure);
    Throwable cause = shutdown == null ? failure : shutdown;
    if (failure instanceof PossibleAuthenticationFailureException
        || (shutdown != null && Closing.isRefusedAccess(shutdown))) {
      return "%s: The broker refuses this user: %s Correct the login or the permissions; it is tried again."
          .formatted(ErrorCode.BROKER_REFUSES.text(), sentence(cause.getMessage()));
    }
    if (shutdown != null && isOfConsume(shutdown)) {
      return "%s: Queue '%s' is not there, or is another than was expected: %s Declare it, or correct its name; it is consumed as soon as it is there."
          .formatted(
              ErrorCode.QUEUE_DIFFERS.text(), settings.queue(), sentence(cause.getMessage()));
    }
    return "%s: Queue '%s' is not consumed from %s now: %s Look at the broker, and at the way to it; it connects again, and nothing is lost."
        .formatted(
            ErrorCode.CONSUMER_STOPPED.text(),
            settings.queue(),
            settings.connector().place(),
            told(cause));
  }

  /** Of what the inbox has answered instead of taking messages. */
  static String ofIntake(Throwable failure, Settings settings) {
    ErrorCode code =
        failure instanceof InboxException known ? known.code() : ErrorCode.CONSUMER_STOPPED;
    return "%s: Queue '%s' waits, because the inbox cannot take messages: %s Look at %s; it is tried again, and nothing is acknowledged meanwhile."
        .formatted(
            code.text(),
            settings.queue(),
            told(failure),
            failure instanceof Error ? "class path and memory of the application" : "its store");
  }

  private static String told(Throwable cause) {
    String name = cause.getClass().getSimpleName();
    return sentence(cause.getMessage() == null ? name : name + ": " + cause.getMessage());
  }

  private static String sentence(@Nullable String text) {
    String told = String.valueOf(text);
    return told.endsWith(".") ? told : told + ".";
  }

  /** A channel is closed with the same codes when the broker loses patience with a consumer. */
  private static boolean isOfConsume(ShutdownSignalException shutdown) {
    return shutdown.getReason() instanceof AMQP.Channel.Close close
        && (close.getReplyCode() == AMQP.NOT_FOUND
            || close.getReplyCode() == AMQP.PRECONDITION_FAILED)
        && close.getClassId() == CONSUME.protocolClassId()
        && close.getMethodId() == CONSUME.protocolMethodId();
  }

  private static @Nullable ShutdownSignalException shutdownIn(Throwable failure) {
    for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
      if (cause instanceof ShutdownSignalException shutdown) {
        return shutdown;
      }
    }
    return null;
  }
}
