package dev.pigeonhole.rabbitmq;

import com.rabbitmq.client.AMQP;
import com.rabbitmq.client.Connection;
import com.rabbitmq.client.Method;
import com.rabbitmq.client.PossibleAuthenticationFailureException;
import com.rabbitmq.client.ShutdownSignalException;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.transport.Acceptor;
import dev.pigeonhole.transport.Envelope;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps one consumer going: connects, consumes until something breaks, waits, and connects again.
 * The client's own recovery is off, because it would go on with numbers of a channel that is gone.
 */
final class RabbitConsumer extends Thread {
  private static final Logger LOG = LoggerFactory.getLogger(RabbitConsumer.class);
  private static final Method CONSUME = new AMQP.Basic.Consume.Builder().queue("").build();

  private final Settings settings;
  private final Acceptor acceptor;
  private final Control control;
  private final int number;
  private boolean received; // of this thread
  private volatile @Nullable Connection connection;
  private volatile @Nullable Consumption consumption;

  RabbitConsumer(Settings settings, Acceptor acceptor, Control control, int number) {
    super("pigeonhole-rabbitmq-" + settings.queue() + "-" + number);
    this.settings = settings;
    this.acceptor = acceptor;
    this.control = control;
    this.number = number;
    setDaemon(true);
  }

  @Override
  public void run() {
    Duration wait = settings.firstReconnect();
    while (!control.stopping()) {
      received = false;
      try {
        consumeOrAwaitTheStore();
      } catch (Exception | Error e) {
        told(e);
      }
      if (received) {
        wait = settings.firstReconnect(); // it had worked
      }
      control.await(wait);
      Duration longer = wait.multipliedBy(2);
      wait = longer.compareTo(settings.lastReconnect()) < 0 ? longer : settings.lastReconnect();
    }
  }

  private void consumeOrAwaitTheStore() throws Exception {
    try {
      consume();
    } catch (Consumption.OutageException e) {
      awaitTheStore(e.probe());
    }
  }

  private void consume() throws Exception {
    boolean unused = Thread.interrupted();
    Connection fresh = settings.connector().open(getName());
    connection = fresh;
    try {
      Consumption own = new Consumption(settings, acceptor, control, this::trouble, fresh);
      consumption = own;
      LOG.info("{} consumes from {}", getName(), fresh.getAddress());
      try {
        own.run();
      } finally {
        received = own.hasReceived();
        own.close();
      }
    } finally {
      consumption = null;
      connection = null;
      fresh.abort(Connections.CLOSE_MILLIS);
    }
  }

  /** Deliveries are with the broker again; nobody needs them before the store can say. */
  private void awaitTheStore(List<Envelope> probe) {
    while (!control.stopping()) {
      control.await(Duration.ofSeconds(5));
      try {
        acceptor.accept(probe); // it comes again, and is a repeat then
        return;
      } catch (RuntimeException e) {
        trouble("the inbox cannot take messages: " + e.getMessage());
      }
    }
  }

  private void told(Throwable e) {
    if (control.stopping()) {
      return;
    }
    trouble(text(e));
    LOG.debug("{} failed with", getName(), e);
  }

  private String text(Throwable e) {
    ShutdownSignalException shutdown = shutdownIn(e);
    String told = String.valueOf((shutdown == null ? e : shutdown).getMessage());
    if (e instanceof PossibleAuthenticationFailureException
        || (shutdown != null && Closing.isRefusedAccess(shutdown))) {
      return "%s: The broker refuses this user: %s"
          .formatted(ErrorCode.BROKER_REFUSES.text(), told);
    }
    if (shutdown != null && isOfConsume(shutdown)) {
      return "%s: Queue '%s' is not there, or is another than was expected: %s"
          .formatted(ErrorCode.QUEUE_DIFFERS.text(), settings.queue(), told);
    }
    return e.getClass().getSimpleName() + ": " + told;
  }

  /** A channel is closed with the same codes when the broker loses patience with a consumer. */
  private static boolean isOfConsume(ShutdownSignalException shutdown) {
    return shutdown.getReason() instanceof AMQP.Channel.Close close
        && (close.getReplyCode() == AMQP.NOT_FOUND
            || close.getReplyCode() == AMQP.PRECONDITION_FAILED)
        && close.getClassId() == CONSUME.protocolClassId()
        && close.getMethodId() == CONSUME.protocolMethodId();
  }

  private static @Nullable ShutdownSignalException shutdownIn(Throwable e) {
    for (Throwable cause = e; cause != null; cause = cause.getCause()) {
      if (cause instanceof ShutdownSignalException shutdown) {
        return shutdown;
      }
    }
    return null;
  }

  private void trouble(@Nullable String text) {
    if (text == null) {
      if (control.fine(number)) {
        LOG.info("{} goes on", getName());
      }
    } else if (control.trouble(number, text)) {
      LOG.warn("{} waits, and tries again: {}", getName(), text);
    }
  }

  /** For when it does not end by itself: the broker gives what it has to the next one. */
  void cut() {
    Connection open = connection;
    if (open != null) {
      Connections.abort(open);
    }
    Consumption busy = consumption;
    if (busy != null) {
      busy.close(); // it may be waiting for what it puts aside
    }
  }
}
