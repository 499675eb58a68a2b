package dev.pigeonhole.rabbitmq;

import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import com.rabbitmq.client.Delivery;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.transport.Acceptor;
import dev.pigeonhole.transport.Disposition;
import dev.pigeonhole.transport.Envelope;
import dev.pigeonhole.transport.Sent;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One consumer over one channel, from its first delivery to the end of the channel. Deliveries are
 * never acknowledged on another one: their numbers mean something else there. For one thread.
 */
final class Consumption {
  private static final Logger LOG = LoggerFactory.getLogger(RabbitSource.class);
  private static final Duration LOOK = Duration.ofMillis(100);
  private static final Duration PARKING_WAIT = Duration.ofSeconds(5);
  private static final String NOT_CONFIRMED =
      " Look whether the broker is in an alarm, or has no room where the message goes.";

  /** The store has been down for so long that the deliveries were given back. */
  static final class OutageException extends Exception {
    private static final long serialVersionUID = 1L;

    private final transient List<Envelope> probe;

    OutageException(List<Envelope> probe) {
      super("the store is down", null, false, false);
      this.probe = probe;
    }

    /** Whoever takes this one takes others again. */
    List<Envelope> probe() {
      return probe;
    }
  }

  private final Settings settings;
  private final Acceptor acceptor;
  private final Control control;
  private final Consumer<@Nullable String> trouble;
  private final Channel channel;
  private final Parking parking;
  private final Unacknowledged unacknowledged;
  private final Line line = new Line();
  private final Waiting waiting = new Waiting(System::nanoTime);
  private @Nullable String consumerTag;
  private boolean received;
  private volatile boolean cancelled;

  /**
   * @param trouble is told what keeps it from receiving, and null when it is over
   */
  Consumption(
      Settings settings,
      Acceptor acceptor,
      Control control,
      Consumer<@Nullable String> trouble,
      Connection connection)
      throws IOException {
    this.settings = settings;
    this.acceptor = acceptor;
    this.control = control;
    this.trouble = trouble;
    this.channel = connection.createChannel();
    this.parking = new Parking(settings);
    this.unacknowledged = new Unacknowledged(channel);
    channel.basicQos(settings.prefetch());
  }

  /**
   * Returns when it is to stop: what was taken is acknowledged. The rest goes back when the
   * connection is closed, before the broker turns to the next consumer; with a cancel, that one
   * would get newer messages first.
   */
  void run() throws IOException, InterruptedException, OutageException {
    while (!control.stopping()) {
      if (cancelled) {
        throw new InboxException(
            ErrorCode.CONSUMER_CANCELLED,
            "The broker has cancelled the consumer of queue '%s'; it was deleted, or has moved. Declare it again, if it was deleted; it is consumed as soon as it is there."
                .formatted(settings.queue()));
      }
      requireOpen();
      if (control.paused()) {
        cancel();
        trouble.accept(null);
      } else {
        consume();
      }
      List<Waiting.Offered> batch = gather();
      if (!batch.isEmpty()) {
        received = true;
        handIn(batch);
      }
    }
  }

  /** What came over a channel that is gone comes again over the next one. */
  private void requireOpen() throws IOException {
    if (!channel.isOpen()) {
      throw new IOException("the channel was closed", channel.getCloseReason());
    }
  }

  /** Whether the connection was good for anything. */
  boolean hasReceived() {
    return received;
  }

  /**
   * Each consumer of a channel has a prefetch of its own, so that after a pause it waits until some
   * of what the last one has left here is acknowledged.
   */
  private void consume() throws IOException {
    if (consumerTag == null && unacknowledged.count() + line.size() < settings.prefetch()) {
      consumerTag =
          channel.basicConsume(
              settings.queue(),
              false,
              (tag, delivery) -> line.add(delivery),
              tag -> cancelled = true);
      trouble.accept(null);
    }
  }

  /** What is on its way here already is still handed in. */
  private void cancel() throws IOException {
    if (consumerTag != null) {
      channel.basicCancel(consumerTag);
      consumerTag = null;
    }
  }

  private List<Waiting.Offered> gather() throws IOException, InterruptedException {
    List<Waiting.Offered> batch = waiting.take(settings.batch());
    Duration patience = batch.isEmpty() ? waiting.next(LOOK) : Duration.ZERO;
    for (Delivery fresh : line.take(settings.batch() - batch.size(), patience, settings.gather())) {
      unacknowledged.received(fresh);
      batch.add(new Waiting.Offered(fresh, 0));
    }
    return batch;
  }

  private void handIn(List<Waiting.Offered> batch)
      throws IOException, InterruptedException, OutageException {
    List<Parking.Parked> refused = new ArrayList<>();
    List<Parking.Parked> later = new ArrayList<>();
    List<Waiting.Offered> offered = new ArrayList<>();
    List<Envelope> envelopes = new ArrayList<>();
    for (Waiting.Offered each : batch) {
      warnIfTransient(each.delivery());
      Envelope envelope = readOrRefuse(each.delivery(), refused);
      if (envelope != null) {
        offered.add(each);
        envelopes.add(envelope);
      }
    }
    List<Disposition> answers = envelopes.isEmpty() ? List.of() : accept(envelopes);
    if (answers == null) {
      return; // it is to stop, and nobody knows what was stored
    }
    for (int i = 0; i < answers.size(); i++) {
      Waiting.Offered each = offered.get(i);
      Disposition answer = answers.get(i);
      if (answer instanceof Disposition.Refused no) {
        refused.add(new Parking.Parked(each.delivery(), no.code(), no.reason(), false));
      } else if (answer instanceof Disposition.Later yet && parking.takesLater()) {
        Parking.Parked parked = new Parking.Parked(each.delivery(), yet.code(), yet.reason(), true);
        (parking.retries(parked) ? later : refused).add(parked);
      } else if (answer instanceof Disposition.Later) {
        waiting.add(each);
      } else {
        unacknowledged.settled(each.delivery());
      }
    }
    unacknowledged.acknowledge();
    park(later);
    park(refused);
  }

  private void warnIfTransient(Delivery delivery) {
    Integer mode = delivery.getProperties().getDeliveryMode();
    if ((mode == null || mode != Envelopes.DURABLE) && control.mayWarn()) {
      LOG.warn(
          "{}: Queue '{}' has messages that a broker forgets when it ends. Let the producer send them"
              + " with delivery mode 2, to a durable queue.",
          ErrorCode.MESSAGES_TRANSIENT.text(),
          settings.queue());
    }
  }

  private @Nullable Envelope readOrRefuse(Delivery delivery, List<Parking.Parked> refused) {
    try {
      return read(delivery);
    } catch (InboxException e) {
      refused.add(new Parking.Parked(delivery, e.code(), String.valueOf(e.getMessage()), false));
      return null;
    }
  }

  /**
   * Without what need not be held in memory by hundreds, nobody can walk through, or could be taken
   * for something else.
   */
  private Envelope read(Delivery delivery) {
    if (delivery.getBody().length > settings.maxBody()) {
      throw new InboxException(
          ErrorCode.PAYLOAD_TOO_LARGE,
          "The body has %d bytes, the limit of the source is %d. Raise .maxBody(…), or send a reference."
              .formatted(delivery.getBody().length, settings.maxBody()));
    }
    if (Fields.areTooDeep(delivery.getProperties().getHeaders())) {
      throw new InboxException(
          ErrorCode.HEADER_VALUE_UNSUPPORTED,
          "A header is nested more than %d deep. Let its producer send a flat one, or put it into the body."
              .formatted(Fields.DEEPEST));
    }
    Envelope envelope = Envelopes.in(settings.queue(), delivery);
    if (envelope.id().filter(id -> id.indexOf('\uFFFD') >= 0).isPresent()) {
      // The client has put it where it could not read a byte: two ids may have become one.
      throw new InboxException(
          ErrorCode.ID_INVALID_UNICODE,
          "The message id is no text in UTF-8. Let its producer send one.");
    }
    return envelope;
  }

  static Backoff untilTheStoreIsBack() {
    return new Backoff(Duration.ofMillis(100), Duration.ofSeconds(5));
  }

  /** Null if it is to stop before the store could say. */
  private @Nullable List<Disposition> accept(List<Envelope> envelopes)
      throws IOException, OutageException {
    long began = System.nanoTime();
    Backoff backoff = untilTheStoreIsBack();
    boolean failed = false;
    while (true) {
      try {
        List<Disposition> answers = acceptor.accept(envelopes);
        boolean unused = Thread.interrupted(); // a handler's
        if (failed) {
          trouble.accept(null);
        }
        return answers;
      } catch (RuntimeException | Error e) {
        // Also errors: whoever left with one would give all deliveries back, and count them.
        failed = true;
        trouble.accept(Diagnosis.ofIntake(e, settings));
        LOG.debug("The inbox failed with", e);
      }
      if (control.stopping()) {
        return null;
      }
      requireOpen();
      if (System.nanoTime() - began > settings.longestOutage().toNanos()) {
        throw new OutageException(List.of(envelopes.get(0)));
      }
      control.await(backoff.next());
    }
  }

  /** Goes on when all of them are where people can see them: nothing may pass by unseen. */
  private void park(List<Parking.Parked> parked) throws IOException, InterruptedException {
    List<Parking.Parked> left = parked;
    while (!left.isEmpty() && !control.stopping()) {
      requireOpen();
      List<Sent> answers = parking.park(left);
      List<Parking.Parked> rest = new ArrayList<>();
      String why = "";
      for (int i = 0; i < left.size(); i++) {
        Sent answer = answers.get(i);
        if (answer instanceof Sent.Confirmed) {
          unacknowledged.settled(left.get(i).delivery());
        } else {
          rest.add(left.get(i));
          why = why(answer);
        }
      }
      unacknowledged.acknowledge();
      left = rest;
      if (left.isEmpty()) {
        trouble.accept(null);
      } else {
        // Not given back meanwhile: that would count against the delivery limit of the queue. Nor
        // cancelled, which would let others pass; the prefetch holds the broker.
        trouble.accept(why + " Nothing more is acknowledged until it has a place.");
        control.await(PARKING_WAIT);
      }
    }
  }

  private static String why(Sent answer) {
    if (answer instanceof Sent.Unroutable nowhere) {
      return nowhere.reason();
    }
    Throwable cause = ((Sent.Failed) answer).cause();
    boolean refused =
        cause instanceof InboxException known && known.code() == ErrorCode.BROKER_REFUSES;
    return cause.getMessage() + (refused ? "" : NOT_CONFIRMED);
  }

  /** By any thread: nothing more is put aside, and nobody waits for that. */
  void close() {
    parking.close();
  }
}
