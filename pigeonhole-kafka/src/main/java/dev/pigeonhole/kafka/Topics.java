package dev.pigeonhole.kafka;

import dev.pigeonhole.ErrorCode;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.Uuid;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Looks at the topics now and then, for a consumer says nothing of one that is not there, and knows
 * no topic ids. Asks without waiting for the answer. For one thread, but for {@link #idOf}.
 */
final class Topics {
  private static final Logger LOG = LoggerFactory.getLogger(Topics.class);
  private static final Duration CALM = Duration.ofSeconds(15);
  private static final Duration SOON = Duration.ofSeconds(1);

  private final List<String> names;
  private final Supplier<Admin> admin;
  private final Troubles troubles;
  private final LongSupplier nanos;
  private volatile Map<String, String> ids = Map.of();
  private @Nullable Map<String, KafkaFuture<TopicDescription>> asked;
  private boolean nameWasSaid;
  private long nextLook;

  Topics(List<String> names, Supplier<Admin> admin, Troubles troubles, LongSupplier nanos) {
    this.names = names;
    this.admin = admin;
    this.troubles = troubles;
    this.nanos = nanos;
    this.nextLook = nanos.getAsLong();
  }

  /** Asks if it is time to, and reads the answer if it is there. */
  void look() {
    Map<String, KafkaFuture<TopicDescription>> open = asked;
    long now = nanos.getAsLong();
    if (open == null) {
      if (now - nextLook >= 0) {
        ask(now);
      }
    } else if (open.values().stream().allMatch(KafkaFuture::isDone)) {
      asked = null;
      nextLook = now + (read(open) ? CALM : SOON).toNanos();
    }
  }

  private void ask(long now) {
    try {
      asked = admin.get().describeTopics(names).topicNameValues();
    } catch (KafkaException e) { // such as a host that nobody knows
      nextLook = now + SOON.toNanos();
      Diagnosis.of(e)
          .report(troubles, "brokers", "The brokers cannot be asked for their topics", e);
    }
  }

  /** Whether all of them are there. */
  private boolean read(Map<String, KafkaFuture<TopicDescription>> answers) {
    Map<String, String> found = new HashMap<>();
    answers.forEach(
        (name, answer) -> {
          TopicDescription topic = read(name, answer);
          if (topic != null) {
            found.put(name, id(topic));
          }
        });
    if (found.size() < names.size()) {
      return false;
    }
    ids = Map.copyOf(found);
    troubles.over("brokers");
    return true;
  }

  private @Nullable TopicDescription read(String name, KafkaFuture<TopicDescription> answer) {
    String place = "topic " + name;
    try {
      TopicDescription topic = answer.get();
      troubles.over(place);
      return topic;
    } catch (ExecutionException e) {
      Throwable cause = e.getCause() == null ? e : e.getCause();
      Diagnosis.of(cause).report(troubles, place, "Topic '" + name + "' cannot be read", cause);
    } catch (InterruptedException e) { // it is done, so nobody waits
      Thread.currentThread().interrupt();
    }
    return null;
  }

  /** Brokers before 2.8 give none; the name then stands for whatever topic has it. */
  private String id(TopicDescription topic) {
    if (!topic.topicId().equals(Uuid.ZERO_UUID)) {
      return topic.topicId().toString();
    }
    if (!nameWasSaid) {
      nameWasSaid = true;
      LOG.warn(
          "The brokers give no topic ids, so ids made of positions begin with the name '{}'. Should"
              + " the topic be deleted and created again, its records look like repeats",
          topic.name());
    }
    return topic.name();
  }

  /** Whether {@link #idOf} may be asked. A failure to learn them passes: nobody makes them up. */
  boolean areKnown() {
    return ids.size() == names.size();
  }

  /** Look again before anything else is identified by them: they may have been created anew. */
  void forget() {
    ids = Map.of();
    asked = null;
    nextLook = nanos.getAsLong();
  }

  String idOf(String name) {
    String id = ids.get(name);
    if (id == null) {
      throw new IllegalStateException(
          "%s: The id of topic '%s' is not known now."
              .formatted(ErrorCode.KAFKA_TOPIC_MISSING.text(), name));
    }
    return id;
  }
}
