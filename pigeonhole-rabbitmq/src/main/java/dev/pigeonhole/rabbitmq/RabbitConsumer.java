package dev.pigeonhole.rabbitmq;

import com.rabbitmq.client.Connection;
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
    Backoff backoff = new Backoff(settings.firstReconnect(), settings.lastReconnect());
    while (!control.stopping()) {
      received = false;
      try {
        consumeOrAwaitTheStore();
      } catch (Exception | Error e) {
        told(e);
      }
      if (received) {
        backoff.reset(); // it had worked
      }
      control.await(backoff.next());
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
      } catch (RuntimeException | Error e) {
        trouble(Diagnosis.ofIntake(e, settings));
      }
    }
  }

  private void told(Throwable e) {
    if (control.stopping()) {
      return;
    }
    trouble(Diagnosis.of(e, settings));
    LOG.debug("{} failed with", getName(), e);
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
