package dev.pigeonhole.kafka;

import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.ConfigurationException.Problem;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.transport.Acceptor;
import dev.pigeonhole.transport.MessageSource;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Takes the records of Kafka topics into a channel, as a member of a consumer group.
 *
 * <pre>{@code
 * KafkaSource orders =
 *     KafkaSource.topic(
 *             Map.of("bootstrap.servers", "broker:9092", "group.id", "shipping"), "orders")
 *         .parkingIn("orders.parked");
 * }</pre>
 *
 * <p>Offsets are committed only after the messages are durable, and never beyond one that is not
 * finished: a crash costs repeats, which an inbox knows. What the channel refuses goes into the
 * topic named by {@link #parkingIn}; without one, its partition stands still.
 *
 * <p>Immutable but for what it is doing; each step returns a new one that is not started. Start as
 * many as you like of one group, in one process or in many.
 */
public final class KafkaSource implements MessageSource {
  private static final Pattern TOPIC = Pattern.compile("[a-zA-Z0-9._-]{1,249}");
  private static final int LARGEST_BODY = 100_000_000;
  private static final int LARGEST_BATCH = 500;
  private static final int LONGEST_SOURCE = 250;

  private final Choices choices;
  private volatile @Nullable Worker worker; // set by one thread at a time

  private KafkaSource(Choices choices) {
    this.choices = choices;
  }

  /**
   * Begins with the settings of the consumer, as the client of Kafka knows them, and the topics.
   * {@code bootstrap.servers} and {@code group.id} are needed. The producer of parked records and
   * what looks at topics use the same settings, as far as they are theirs.
   *
   * @throws ConfigurationException with {@code PH-KFK-08} and everything that is wrong: a setting
   *     that would lose records, such as {@code enable.auto.commit}, or a topic that is none
   */
  public static KafkaSource topic(Map<String, ?> consumerConfig, String topic, String... more) {
    List<String> topics = new ArrayList<>();
    topics.add(topic);
    topics.addAll(List.of(more));
    ClientSettings settings = new ClientSettings(consumerConfig);
    List<Problem> problems = new ArrayList<>(settings.problems());
    for (String each : topics) {
      if (!isTopic(each)) {
        problems.add(noTopic(each));
      }
    }
    if (!problems.isEmpty()) {
      throw new ConfigurationException(problems);
    }
    return new KafkaSource(new Choices(settings, topics.stream().distinct().toList()));
  }

  private static boolean isTopic(String name) {
    return TOPIC.matcher(name).matches() && !name.equals(".") && !name.equals("..");
  }

  private static Problem noTopic(String name) {
    return new Problem(
        ErrorCode.KAFKA_SETTING_REFUSED,
        "'%s' is no topic. Use 1 to 249 letters, digits, '.', '_' or '-'."
            .formatted(OneLine.of(name)));
  }

  /** Where the id of a message is. Default: header {@code pigeonhole-id}. */
  public KafkaSource idFrom(KafkaId id) {
    Objects.requireNonNull(id, "id");
    return with(next -> next.id = id);
  }

  /**
   * Where the ids are unique: who sends here. Records never choose it. Default: the channel's name.
   *
   * @throws ConfigurationException with {@code PH-ID-06} if messages cannot come from there
   */
  public KafkaSource source(String source) {
    if (source.isBlank()
        || source.codePointCount(0, source.length()) > LONGEST_SOURCE
        || source.chars().anyMatch(Character::isISOControl)) {
      throw new ConfigurationException(
          ErrorCode.SOURCE_INVALID,
          "The source of %s is not usable: 1 to %d characters, no control characters."
              .formatted(name(), LONGEST_SOURCE));
    }
    return with(next -> next.source = source);
  }

  /**
   * The topic for refused records, with the reason in headers: wrong ids, what is too large, what
   * nobody can read. It has to be there. Default: none, and a refused record stops its partition
   * with {@code PH-KFK-06}.
   *
   * @throws ConfigurationException with {@code PH-KFK-08} if it is no topic, or one that is read
   */
  public KafkaSource parkingIn(String topic) {
    if (!isTopic(topic)) {
      throw new ConfigurationException(List.of(noTopic(topic)));
    }
    if (choices.topics.contains(topic)) {
      throw new ConfigurationException(
          ErrorCode.KAFKA_SETTING_REFUSED,
          "%s cannot park records in '%s', which it reads: they would come again for ever. Use"
                  .formatted(name(), topic)
              + " another topic.");
    }
    return with(next -> next.parkingTopic = topic);
  }

  /**
   * How many bytes a value may have; larger ones are refused with {@code PH-PAY-02}. Default
   * 1,000,000.
   *
   * @throws ConfigurationException with {@code PH-CFG-05} unless it is 1 to 100,000,000
   */
  public KafkaSource maxBody(int bytes) {
    if (bytes < 1 || bytes > LARGEST_BODY) {
      throw outOfRange("maxBody", bytes + "", "1 to 100,000,000");
    }
    return with(next -> next.maxBody = bytes);
  }

  /**
   * How many records are taken in together at most, in one commit of the store. Default 500.
   *
   * @throws ConfigurationException with {@code PH-CFG-05} unless it is 1 to 500
   */
  public KafkaSource batch(int records) {
    if (records < 1 || records > LARGEST_BATCH) {
      throw outOfRange("batch", records + "", "1 to " + LARGEST_BATCH);
    }
    return with(next -> next.batch = records);
  }

  /**
   * Where to begin without an offset of the group. Default: what {@code auto.offset.reset} says, or
   * else {@link StartAt#EARLIEST}.
   */
  public KafkaSource startAt(StartAt place) {
    Objects.requireNonNull(place, "place");
    return with(next -> next.startAt = place);
  }

  /**
   * For how long records may come again, such as the retention time of the topic. An inbox that
   * forgets messages earlier warns at its start. Default: nobody knows.
   *
   * @throws ConfigurationException with {@code PH-CFG-05} unless it is up to 3,650 days
   */
  public KafkaSource repeatedFor(Duration time) {
    return with(next -> next.repeatedFor = checked("repeatedFor", time, Duration.ofDays(3650)));
  }

  /**
   * How long a producer's transaction may hold up what stands behind it before that counts as
   * trouble, with {@code PH-KFK-07}. Default 5 minutes.
   *
   * @throws ConfigurationException with {@code PH-CFG-05} unless it is up to a day
   */
  public KafkaSource transactionAlarm(Duration after) {
    return with(
        next -> next.transactionAlarm = checked("transactionAlarm", after, Duration.ofDays(1)));
  }

  private KafkaSource with(Consumer<Choices> change) {
    Choices next = new Choices(choices);
    change.accept(next);
    return new KafkaSource(next);
  }

  private Duration checked(String option, Duration time, Duration longest) {
    if (time.isZero() || time.isNegative() || time.compareTo(longest) > 0) {
      throw outOfRange(option, time.toString(), "above zero to " + longest);
    }
    return time;
  }

  private ConfigurationException outOfRange(String option, String value, String range) {
    return new ConfigurationException(
        ErrorCode.RANGE_INVALID,
        "%s of %s is %s; it goes from %s. Choose a value inside."
            .formatted(option, name(), value, range));
  }

  @Override
  public String name() {
    return "kafka:" + String.join(",", choices.topics);
  }

  @Override
  public Optional<Duration> repeatHorizon() {
    return Optional.ofNullable(choices.repeatedFor);
  }

  /**
   * What keeps it from its work at present, for people: a topic that is missing, brokers that
   * cannot be reached, a partition that stands still; each with its code and the way out, one per
   * line. Empty while all is well, and while it is not started.
   */
  @Override
  public Optional<String> trouble() {
    Worker present = worker;
    return present == null ? Optional.empty() : present.trouble();
  }

  @Override
  public void start(Acceptor acceptor) {
    Worker fresh = new Worker(name(), choices, acceptor);
    worker = fresh;
    fresh.start();
  }

  @Override
  public void pause(String reason) {
    Worker present = worker;
    if (present != null) {
      present.pause(true);
    }
  }

  @Override
  public void resume() {
    Worker present = worker;
    if (present != null) {
      present.pause(false);
    }
  }

  @Override
  public void stop(Duration patience) {
    Worker last = worker;
    if (last != null) {
      worker = null;
      last.stop(patience);
    }
  }

  @Override
  public String toString() {
    return "KafkaSource " + name();
  }

  /** Changed only while one step makes its copy. */
  static final class Choices {
    final ClientSettings settings;
    final List<String> topics;
    KafkaId id = KafkaId.header(HeaderNames.ID);
    @Nullable String source;
    @Nullable String parkingTopic;
    int maxBody = 1_000_000;
    int batch = LARGEST_BATCH;
    StartAt startAt;
    @Nullable Duration repeatedFor;
    Duration transactionAlarm = Duration.ofMinutes(5);

    /** The longest waits for an answer and for a commit before partitions move; no option. */
    Duration answerBeforeMove = Duration.ofSeconds(2);

    Duration commitBeforeMove = Duration.ofSeconds(5);

    Choices(ClientSettings settings, List<String> topics) {
      this.settings = settings;
      this.topics = topics;
      this.startAt = settings.isReset("none") ? StartAt.NONE : StartAt.EARLIEST;
    }

    Choices(Choices from) {
      settings = from.settings;
      topics = from.topics;
      id = from.id;
      source = from.source;
      parkingTopic = from.parkingTopic;
      maxBody = from.maxBody;
      batch = from.batch;
      startAt = from.startAt;
      repeatedFor = from.repeatedFor;
      transactionAlarm = from.transactionAlarm;
      answerBeforeMove = from.answerBeforeMove;
      commitBeforeMove = from.commitBeforeMove;
    }
  }
}
