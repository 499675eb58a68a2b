package dev.pigeonhole.kafka;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.errors.AuthorizationException;
import org.apache.kafka.common.errors.InvalidTopicException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.apache.kafka.common.errors.UnsupportedVersionException;

/**
 * The topic that is sent to. Every producer lets brokers create what it names, no setting of it
 * says otherwise, and brokers do so unless they are told not to: a slip in the name would be a
 * topic that nobody reads. So the brokers are asked whether there is one before a producer names
 * it: once, and again after something has failed. Safe for many threads.
 *
 * <p>A topic that is deleted under a producer that knows it is beyond this: the producer asks for
 * it by itself, and such brokers create it anew.
 */
final class Destination {
  /** How long a topic has to be missing: not all brokers know at once of one that is new. */
  private static final Duration GRACE = Duration.ofSeconds(1);

  private static final Duration AGAIN = Duration.ofMillis(100);

  private final String topic;
  private final Map<String, Object> adminConfig;
  private volatile boolean found;

  Destination(String topic, Map<String, Object> adminConfig) {
    this.topic = topic;
    this.adminConfig = adminConfig;
  }

  String topic() {
    return topic;
  }

  static boolean isMissing(Throwable failure) {
    return failure instanceof UnknownTopicOrPartitionException
        || failure instanceof InvalidTopicException;
  }

  /**
   * Returns if a producer may name it.
   *
   * @param patience for the answer, and at least a second
   * @throws KafkaException if there is none, see {@link #isMissing}, or if nobody says so in time
   */
  void find(Duration patience) throws InterruptedException {
    if (!found) {
      ask(patience);
      found = true;
    }
  }

  /** Ask again before anything else is sent: it may be gone. */
  void forget() {
    found = false;
  }

  private void ask(Duration patience) throws InterruptedException {
    long began = System.nanoTime();
    long end = began + Math.max(patience.toNanos(), GRACE.toNanos());
    Admin admin = Admin.create(adminConfig);
    try {
      while (!isThere(admin, end, System.nanoTime() - began < GRACE.toNanos())) {
        TimeUnit.NANOSECONDS.sleep(AGAIN.toNanos());
      }
    } finally {
      admin.close(Duration.ZERO); // otherwise it waits for answers that nobody wants
    }
  }

  /**
   * Brokers that may not or cannot say are no reason not to send: they answer the producer, too.
   */
  private boolean isThere(Admin admin, long end, boolean mayBeNew) throws InterruptedException {
    try {
      admin
          .describeTopics(List.of(topic))
          .allTopicNames()
          .get(end - System.nanoTime(), TimeUnit.NANOSECONDS);
      return true;
    } catch (TimeoutException e) {
      throw new org.apache.kafka.common.errors.TimeoutException("no broker has answered in time");
    } catch (ExecutionException e) {
      Throwable cause = e.getCause();
      if (cause instanceof AuthorizationException || cause instanceof UnsupportedVersionException) {
        return true;
      }
      if (mayBeNew && cause instanceof UnknownTopicOrPartitionException) {
        return false;
      }
      throw cause instanceof KafkaException known ? known : new KafkaException(cause);
    }
  }
}
