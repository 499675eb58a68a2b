package dev.pigeonhole.kafka;

import dev.pigeonhole.transport.Acceptor;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A source from its start to its stop: one thread for the consumer and one for handing in. A
 * consumer that fails is replaced by another one, until the source is stopped.
 */
final class Worker implements Runnable {
  private static final Logger LOG = LoggerFactory.getLogger(Worker.class);

  private static final Duration LONGEST_REST = Duration.ofSeconds(30);

  private final String name;
  private final KafkaSource.Choices choices;
  private final Troubles troubles;
  private final ExecutorService beside;
  private final @Nullable KafkaPublisher publisher;
  private final Topics topics;
  private final HandIn handIn;
  private final Thread thread;
  private final CountDownLatch stopping = new CountDownLatch(1);
  private volatile boolean paused;
  private volatile long stopBy;
  private @Nullable Admin admin; // of the thread of the consumer

  Worker(String name, KafkaSource.Choices choices, Acceptor acceptor) {
    this.name = name;
    this.choices = choices;
    this.troubles = new Troubles(name, System::nanoTime);
    this.beside =
        Executors.newSingleThreadExecutor(work -> daemon(work, "pigeonhole-" + name + "-accept"));
    String parkingTopic = choices.parkingTopic;
    this.publisher =
        parkingTopic == null ? null : new KafkaPublisher(choices.settings.forProducer());
    this.topics = new Topics(choices.topics, this::admin, troubles, System::nanoTime);
    this.handIn =
        new HandIn(
            new RecordReader(choices, topics::idOf),
            acceptor,
            parkingTopic == null || publisher == null
                ? null
                : new Parking(
                    name,
                    new Destination(parkingTopic, choices.settings.forAdmin()),
                    publisher,
                    System::nanoTime));
    this.thread = daemon(this, "pigeonhole-" + name);
  }

  private static Thread daemon(Runnable work, String name) {
    Thread thread = new Thread(work, name);
    thread.setDaemon(true);
    return thread;
  }

  void start() {
    thread.start();
  }

  void pause(boolean pause) {
    paused = pause;
  }

  Optional<String> trouble() {
    return troubles.text();
  }

  /** Returns when everything is committed and the group has been left, or after this time. */
  void stop(Duration patience) {
    stopBy = System.nanoTime() + patience.toNanos();
    stopping.countDown();
    try {
      thread.join(Math.max(1, patience.toMillis()));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  @Override
  public void run() {
    Backoff backoff = new Backoff(Duration.ofSeconds(1), LONGEST_REST);
    while (!isStopping()) {
      long born = System.nanoTime();
      try {
        live();
      } catch (Throwable e) { // also errors: a source that has ended says nothing any more
        boolean unused = Thread.interrupted();
        Diagnosis.of(e).report(troubles, "group", "The consumer has failed", e);
      }
      if (System.nanoTime() - born > LONGEST_REST.toNanos()) {
        backoff.reset();
      }
      if (!isStopping()) {
        rest(backoff.next());
      }
    }
    end();
  }

  private boolean isStopping() {
    return stopping.getCount() == 0;
  }

  /** One consumer, until the stop. */
  private void live() {
    GroupMember member =
        new GroupMember(
            choices,
            new KafkaConsumer<>(choices.settings.forConsumer(choices.batch)),
            new Backlog(choices, handIn, beside, troubles),
            topics,
            new OpenTransactions(choices.transactionAlarm, this::admin, troubles, System::nanoTime),
            troubles,
            () -> paused);
    try {
      member.join();
      while (!isStopping()) {
        member.turn();
      }
    } finally {
      leave(member);
    }
  }

  private void leave(GroupMember member) {
    try {
      member.leave(
          isStopping() ? Duration.ofNanos(stopBy - System.nanoTime()) : Duration.ofSeconds(2));
    } catch (RuntimeException e) { // the group finds out by itself, a little later
      LOG.info("Source {} could not leave its group: {}", name, e.toString());
    }
  }

  private void rest(Duration time) {
    try {
      boolean unused = stopping.await(time.toNanos(), TimeUnit.NANOSECONDS);
    } catch (InterruptedException e) {
      // Nobody has a reason to; a stop is told otherwise.
    }
  }

  private Admin admin() {
    Admin present = admin;
    if (present == null) {
      present = Admin.create(choices.settings.forAdmin());
      admin = present;
    }
    return present;
  }

  /** What is still being handed in may park something, so its client is closed behind it. */
  private void end() {
    KafkaPublisher last = publisher;
    if (last != null) {
      beside.execute(last::close);
    }
    beside.shutdown();
    Admin present = admin;
    if (present != null) {
      present.close(Duration.ZERO);
    }
    troubles.forgetAll();
  }
}
