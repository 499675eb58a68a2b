package dev.pigeonhole.rabbitmq;

import com.rabbitmq.client.Address;
import com.rabbitmq.client.ConnectionFactory;
import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.transport.Acceptor;
import dev.pigeonhole.transport.MessageSource;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Messages from a queue of RabbitMQ. A message is acknowledged when the inbox has it, or knew it
 * already; what is refused is put aside first, with the reason in its headers. Nothing is ever
 * acknowledged on another channel than the one it came over.
 *
 * <pre>{@code
 * Inbox.on(store)
 *     .channel(orders, RabbitSource.queue(factory, "orders.events").deadLetters("orders.dead"))
 *     .build()
 * }</pre>
 *
 * <p>Immutable; each step returns a new one, not started.
 */
public final class RabbitSource implements MessageSource {
  private static final Duration GATHER = Duration.ofMillis(5);
  private static final int BATCH = 200;
  private static final Duration LONGEST_DELAY = Duration.ofDays(1);

  private final Choices choices;
  private volatile @Nullable Control control; // set by one thread at a time
  private List<RabbitConsumer> consumers = List.of(); // of that thread

  private RabbitSource(Choices choices) {
    this.choices = choices;
  }

  /**
   * Consumes this queue, which must exist: {@link RabbitTopology} can declare it.
   *
   * @param factory is copied; the source has connections of its own, with the client's recovery off
   */
  public static RabbitSource queue(ConnectionFactory factory, String queue) {
    return new RabbitSource(new Choices(factory, queue));
  }

  /**
   * The nodes of a cluster, tried one after the other whenever it connects. Default: the one that
   * the factory names.
   */
  public RabbitSource nodes(Address... addresses) {
    List<Address> nodes = List.of(addresses);
    return with(next -> next.nodes = nodes);
  }

  /**
   * Where what is refused is published to, with the queue's name as routing key. Without it, or
   * where no queue is bound, the source stops at the first such message with {@code PH-RMQ-05}, and
   * keeps it.
   */
  public RabbitSource deadLetters(String exchange) {
    return deadLetters(exchange, choices.queue);
  }

  /** The same with another routing key. */
  public RabbitSource deadLetters(String exchange, String routingKey) {
    Objects.requireNonNull(exchange, "exchange");
    Objects.requireNonNull(routingKey, "routingKey");
    return with(
        next -> {
          next.deadLetters = exchange;
          next.deadLetterKey = routingKey;
        });
  }

  /**
   * What an inline or a direct handler has not finished waits so long in the queue {@code
   * <queue>.retry}, up to so many times, and is refused after that; {@link RabbitQueue#retryOf}
   * describes that queue. Without this it is kept here and handed in again after 0.2 to 30 seconds,
   * however often.
   *
   * @throws ConfigurationException with {@code PH-CFG-05} unless it is 1 to 1,000 times and 1 ms to
   *     1 day
   */
  public RabbitSource withRetry(int maxRetries, Duration delay) {
    check("maxRetries", maxRetries, 1, 1_000);
    check("delay", millis(delay), 1, LONGEST_DELAY.toMillis());
    return with(
        next -> {
          next.maxRetries = maxRetries;
          next.retryDelay = delay;
        });
  }

  /**
   * How many messages the broker sends ahead to each consumer. Default 250.
   *
   * @throws ConfigurationException with {@code PH-CFG-05} unless it is 1 to 10,000
   */
  public RabbitSource prefetch(int messages) {
    check("prefetch", messages, 1, 10_000);
    return with(next -> next.prefetch = messages);
  }

  /**
   * How many consumers there are, each with a connection and a thread. Default 1: with more, the
   * order of messages in the queue is lost.
   *
   * @throws ConfigurationException with {@code PH-CFG-05} unless it is 1 to 100
   */
  public RabbitSource consumers(int count) {
    check("consumers", count, 1, 100);
    return with(next -> next.consumers = count);
  }

  /**
   * How many bytes a body may have; larger ones are put aside. Default 1,000,000.
   *
   * @throws ConfigurationException with {@code PH-CFG-05} unless it is 1 to 100,000,000
   */
  public RabbitSource maxBody(int bytes) {
    check("maxBody", bytes, 1, 100_000_000);
    return with(next -> next.maxBody = bytes);
  }

  /**
   * For how long the broker may deliver a message again; see {@link #repeatHorizon()}.
   *
   * @throws ConfigurationException with {@code PH-CFG-05} unless it is 1 ms to 3,650 days
   */
  public RabbitSource repeatedFor(Duration time) {
    check("repeatedFor", millis(time), 1, Duration.ofDays(3650).toMillis());
    return with(next -> next.horizon = time);
  }

  /** How long it waits before it connects again, the first and the longest time; for tests. */
  RabbitSource reconnect(Duration first, Duration longest) {
    return with(
        next -> {
          next.firstReconnect = first;
          next.lastReconnect = longest;
        });
  }

  /** How long the store may be down before deliveries are given back; for tests. */
  RabbitSource longestOutage(Duration time) {
    return with(next -> next.longestOutage = time);
  }

  /** How long the broker may take to confirm what is put aside; for tests. */
  RabbitSource longestParking(Duration time) {
    return with(next -> next.longestParking = time);
  }

  @Override
  public String name() {
    return Names.TRANSPORT + ":" + choices.queue;
  }

  @Override
  public Optional<Duration> repeatHorizon() {
    return Optional.ofNullable(choices.horizon);
  }

  /** What keeps it from receiving now, for people; empty while all is well. */
  @Override
  public Optional<String> trouble() {
    Control present = control;
    return present == null ? Optional.empty() : present.trouble();
  }

  @Override
  public void start(Acceptor acceptor) {
    Control fresh = new Control();
    List<RabbitConsumer> all = new ArrayList<>();
    for (int i = 1; i <= choices.consumers; i++) {
      all.add(new RabbitConsumer(settings(), acceptor, fresh, i));
    }
    control = fresh;
    consumers = List.copyOf(all);
    all.forEach(Thread::start);
  }

  Settings settings() {
    return choices.settings();
  }

  @Override
  public void pause(String reason) {
    Control present = control;
    if (present != null) {
      present.pause(true);
    }
  }

  @Override
  public void resume() {
    Control present = control;
    if (present != null) {
      present.pause(false);
    }
  }

  @Override
  public void stop(Duration patience) {
    Control last = control;
    if (last == null) {
      return;
    }
    control = null;
    last.stop();
    long end = System.nanoTime() + patience.toNanos();
    for (RabbitConsumer consumer : consumers) {
      await(consumer, end);
    }
    consumers = List.of();
  }

  private static void await(RabbitConsumer consumer, long end) {
    try {
      consumer.join(Math.max(1, (end - System.nanoTime()) / 1_000_000));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    if (consumer.isAlive()) {
      consumer.cut();
    }
  }

  private RabbitSource with(Consumer<Choices> change) {
    Choices next = new Choices(choices);
    change.accept(next);
    return new RabbitSource(next);
  }

  /** Of a time that may be longer than a number of milliseconds can say. */
  private static long millis(Duration time) {
    try {
      return time.toMillis();
    } catch (ArithmeticException e) {
      return time.isNegative() ? Long.MIN_VALUE : Long.MAX_VALUE;
    }
  }

  private void check(String option, long value, long least, long most) {
    if (value < least || value > most) {
      throw new ConfigurationException(
          ErrorCode.RANGE_INVALID,
          "%s of the source of queue '%s' is %,d; it goes from %,d to %,d. Choose a value inside."
              .formatted(option, choices.queue, value, least, most));
    }
  }

  @Override
  public String toString() {
    return name();
  }

  /** Changed only while one step makes its copy. */
  private static final class Choices {
    final ConnectionFactory factory;
    final String queue;
    List<Address> nodes = List.of();
    int prefetch = 250;
    int consumers = 1;
    int maxBody = 1_000_000;
    @Nullable String deadLetters;
    String deadLetterKey;
    int maxRetries;
    Duration retryDelay = Duration.ZERO;
    @Nullable Duration horizon;
    Duration firstReconnect = Duration.ofSeconds(1);
    Duration lastReconnect = Duration.ofSeconds(30);

    /** Well below the half hour after which a broker takes back what nobody acknowledges. */
    Duration longestOutage = Duration.ofMinutes(10);

    Duration longestParking = Duration.ofSeconds(30);

    Choices(ConnectionFactory factory, String queue) {
      this.factory = Factories.own(factory);
      this.queue = Objects.requireNonNull(queue, "queue");
      this.deadLetterKey = queue;
    }

    Choices(Choices from) {
      factory = from.factory;
      queue = from.queue;
      nodes = from.nodes;
      prefetch = from.prefetch;
      consumers = from.consumers;
      maxBody = from.maxBody;
      deadLetters = from.deadLetters;
      deadLetterKey = from.deadLetterKey;
      maxRetries = from.maxRetries;
      retryDelay = from.retryDelay;
      horizon = from.horizon;
      firstReconnect = from.firstReconnect;
      lastReconnect = from.lastReconnect;
      longestOutage = from.longestOutage;
      longestParking = from.longestParking;
    }

    Settings settings() {
      return new Settings(
          new Connector(factory, nodes),
          queue,
          prefetch,
          Math.min(BATCH, prefetch),
          GATHER,
          maxBody,
          deadLetters,
          deadLetterKey,
          maxRetries,
          retryDelay,
          firstReconnect,
          lastReconnect,
          longestOutage,
          longestParking);
    }
  }
}
