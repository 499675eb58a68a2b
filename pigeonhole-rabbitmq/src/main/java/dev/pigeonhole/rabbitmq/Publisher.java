package dev.pigeonhole.rabbitmq;

import com.rabbitmq.client.AMQP.BasicProperties;
import com.rabbitmq.client.AlreadyClosedException;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import com.rabbitmq.client.Return;
import com.rabbitmq.client.ShutdownSignalException;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.PoisonException;
import dev.pigeonhole.transport.Sent;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentNavigableMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Publishes over one channel and waits until the broker has it. A confirm alone does not mean that:
 * what no queue wants is confirmed as well, and only a mandatory message comes back before its
 * confirm. Safe for many threads; void with its channel.
 */
final class Publisher {

  /** One message to publish. */
  record Outgoing(String exchange, String routingKey, BasicProperties properties, byte[] body) {
    String place() {
      return Publisher.place(exchange, routingKey);
    }
  }

  private final Channel channel;

  /**
   * Numbers are taken and messages written in one order, and never by those who publish: a broker
   * in an alarm reads nothing more, and whoever writes a large message is stuck until it does.
   */
  private final Executor writer =
      new ThreadPoolExecutor(
          0, 1, 10, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), Publisher::thread);

  /** Of those that are written, by their number. */
  private final ConcurrentNavigableMap<Long, Receipt> waiting = new ConcurrentSkipListMap<>();

  /**
   * Set before the sender gets its answer: the sender may publish again at once, while the channel
   * is still being closed, and needs another one for that.
   */
  private volatile boolean broken;

  /** Of all that somebody waits for. */
  private final Set<Receipt> pending = ConcurrentHashMap.newKeySet();

  Publisher(Connection connection) throws IOException {
    channel = connection.createChannel();
    if (channel == null) {
      throw new IOException("the broker allows no more channels");
    }
    channel.confirmSelect();
    channel.addReturnListener(this::returned);
    channel.addConfirmListener(
        (number, multiple) -> settle(number, multiple, new Sent.Confirmed()),
        (number, multiple) -> settle(number, multiple, failed("the broker refuses it", null)));
    channel.addShutdownListener(this::ended);
  }

  boolean isOpen() {
    return !broken && channel.isOpen();
  }

  /** Returns when the broker has answered for all of them, or after this time. */
  List<Sent> publish(List<Outgoing> messages, Duration patience) throws InterruptedException {
    long end = System.nanoTime() + patience.toNanos();
    List<Receipt> receipts = messages.stream().map(Receipt::new).toList();
    pending.addAll(receipts);
    try {
      writer.execute(() -> write(receipts, end));
      List<Sent> answers = new ArrayList<>(receipts.size());
      for (Receipt receipt : receipts) {
        answers.add(receipt.await(end));
      }
      return answers;
    } finally {
      for (Receipt receipt : receipts) {
        receipt.giveUp();
        pending.remove(receipt);
        waiting.remove(receipt.number);
      }
    }
  }

  private void write(List<Receipt> receipts, long end) {
    for (Receipt receipt : receipts) {
      if (receipt.isSettled() || System.nanoTime() - end >= 0) {
        return; // nobody waits for it any more, and none may overtake it
      }
      write(receipt);
    }
  }

  private void write(Receipt receipt) {
    long number = channel.getNextPublishSeqNo();
    receipt.number = number;
    waiting.put(number, receipt);
    if (receipt.isSettled()) {
      waiting.remove(number); // given up just now, maybe before it was there to be removed
    }
    Outgoing message = receipt.message;
    try {
      channel.basicPublish(
          message.exchange(),
          message.routingKey(),
          true,
          numbered(message, number),
          message.body());
    } catch (IOException | AlreadyClosedException e) {
      receipt.settle(lost(message, e));
    } catch (RuntimeException e) {
      // That is how the client says so; all else, as from a collector of meters, is not the
      // message's fault. What could not be written is counted: the numbers are not the broker's.
      broken = true;
      receipt.settle(
          e instanceof IllegalArgumentException
              ? unwritable(message.place(), e)
              : failed("the client failed (%s)".formatted(e), e));
      Connections.abort(channel);
    }
  }

  /** Nobody waits any longer. The channel goes with its connection. */
  void close() {
    pending.forEach(Receipt::giveUp);
  }

  private static Thread thread(Runnable work) {
    Thread thread = new Thread(work, "pigeonhole-rabbitmq-writer");
    thread.setDaemon(true);
    return thread;
  }

  /** Where a message goes, for people. */
  static String place(String exchange, String routingKey) {
    return exchange.isEmpty()
        ? "queue '%s'".formatted(routingKey)
        : "exchange '%s' with the routing key '%s'".formatted(exchange, routingKey);
  }

  static Sent unwritable(String place, RuntimeException cause) {
    return new Sent.Failed(
        new PoisonException(
            ErrorCode.ENVELOPE_UNMAPPABLE,
            "AMQP cannot carry this message to %s: %s. Names, ids of correlation and routing keys have up to 255 bytes, all headers together one frame, and times are as far away as a java.util.Date can be."
                .formatted(place, cause.getMessage()),
            cause));
  }

  /** What comes back has nothing else to tell it by. */
  private static BasicProperties numbered(Outgoing message, long number) {
    BasicProperties properties = message.properties();
    Map<String, @Nullable Object> headers = new HashMap<>();
    if (properties.getHeaders() != null) {
      headers.putAll(properties.getHeaders());
    }
    headers.put(Names.PUBLISH, number);
    return properties.builder().headers(headers).build();
  }

  private void returned(Return message) {
    Object number = message.getProperties().getHeaders().get(Names.PUBLISH);
    Receipt receipt = number instanceof Long known ? waiting.get(known) : null;
    if (receipt != null) {
      receipt.settle(unroutable(receipt.message, message.getReplyText()));
    }
  }

  private void settle(long number, boolean multiple, Sent answer) {
    if (multiple) {
      waiting.headMap(number, true).values().forEach(each -> each.settle(answer));
    } else {
      Receipt receipt = waiting.get(number);
      if (receipt != null) {
        receipt.settle(answer);
      }
    }
  }

  private void ended(ShutdownSignalException cause) {
    waiting.values().forEach(each -> each.settle(lost(each.message, cause)));
  }

  /**
   * In the words of whoever has ended it. All messages of a publisher go to one exchange, so that
   * what is true of the one that has closed the channel is true of those behind it.
   */
  private static Sent lost(Outgoing message, Exception cause) {
    String told = String.valueOf(cause.getMessage());
    if (cause instanceof ShutdownSignalException shutdown) {
      if (Closing.isNotFound(shutdown)) {
        return unroutable(message, told);
      }
      if (Closing.isRefusedAccess(shutdown)) {
        return new Sent.Failed(
            new InboxException(
                ErrorCode.BROKER_REFUSES,
                "The broker does not let this user publish to %s: %s. Give it the permission; it is tried again."
                    .formatted(message.place(), told),
                shutdown));
      }
      OptionalLong limit = Closing.sizeLimit(shutdown);
      if (limit.isPresent() && message.body().length > limit.getAsLong()) {
        return new Sent.Failed(
            new PoisonException(
                ErrorCode.PAYLOAD_TOO_LARGE,
                "RabbitMQ accepts bodies of up to %d bytes (max_message_size), and this one for %s has %d. Raise the limit of the broker, or send a reference."
                    .formatted(limit.getAsLong(), message.place(), message.body().length),
                shutdown));
      }
    }
    return failed("the connection was lost (%s)".formatted(told), cause);
  }

  /** Whether it failed only because a larger message on its channel has closed that. */
  static boolean wasBesideTooLargeOne(Sent answer) {
    return answer instanceof Sent.Failed failed
        && !(failed.cause() instanceof PoisonException)
        && failed.cause().getCause() instanceof ShutdownSignalException shutdown
        && Closing.sizeLimit(shutdown).isPresent();
  }

  private static Sent unroutable(Outgoing message, String told) {
    return new Sent.Unroutable(
        "%s: Nobody takes what is published to %s: %s. Declare it, or bind a queue to it."
            .formatted(ErrorCode.DEAD_LETTERS_UNROUTABLE.text(), message.place(), told));
  }

  private static Sent failed(String why, @Nullable Throwable cause) {
    return new Sent.Failed(
        new InboxException(
            ErrorCode.SEND_UNCONFIRMED,
            "RabbitMQ has not confirmed the message: %s. It may be there nevertheless, and is sent again."
                .formatted(why),
            cause));
  }

  /** The first answer counts: a return comes before the confirm of the same message. */
  private static final class Receipt {
    final Outgoing message;
    volatile long number; // 0 until it is written
    private @Nullable Sent answer; // guarded by this

    Receipt(Outgoing message) {
      this.message = message;
    }

    synchronized void settle(Sent said) {
      if (answer == null) {
        answer = said;
        notifyAll();
      }
    }

    synchronized boolean isSettled() {
      return answer != null;
    }

    void giveUp() {
      settle(failed("no answer in time", null));
    }

    synchronized Sent await(long end) throws InterruptedException {
      while (answer == null) {
        long left = end - System.nanoTime();
        if (left <= 0) {
          giveUp();
        } else {
          TimeUnit.NANOSECONDS.timedWait(this, left);
        }
      }
      return answer;
    }
  }
}
