package dev.pigeonhole.spring.boot;

import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.OnConflict;
import dev.pigeonhole.OnMissingId;
import dev.pigeonhole.RetryPolicy;
import dev.pigeonhole.Unhandled;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.ConfigurationPropertiesSource;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.boot.context.properties.bind.Name;
import org.springframework.boot.sql.init.DatabaseInitializationMode;
import org.springframework.util.unit.DataSize;

/**
 * What can be said of Pigeonhole in the configuration of an application. Names that do not exist
 * are refused, and so are values out of range, all together.
 *
 * @param inboxes several inboxes, by their names; each inherits what is said of the inbox
 * @param handlers options of single annotated handlers, by their keys
 * @param channels options of single channels, by their names
 */
@ConfigurationProperties(prefix = "pigeonhole", ignoreUnknownFields = false)
public record PigeonholeProperties(
    @DefaultValue Inbox inbox,
    @DefaultValue Map<String, NamedInbox> inboxes,
    @DefaultValue Jdbc jdbc,
    @DefaultValue Guard guard,
    @DefaultValue LeaseGuard leaseGuard,
    @DefaultValue Outbox outbox,
    @DefaultValue Observations observations,
    @DefaultValue Map<String, Handler> handlers,
    @DefaultValue Map<String, Channel> channels) {

  /**
   * Checks every value.
   *
   * @throws ConfigurationException with everything that is out of range
   */
  public PigeonholeProperties {
    PropertyChecks.check(inbox, inboxes, jdbc, guard, leaseGuard, outbox, handlers, channels);
  }

  /** The inboxes that there are to be: those with names, or else the only one. */
  List<PlannedInbox> planned() {
    if (inboxes.isEmpty()) {
      return List.of(PlannedInbox.only(inbox, jdbc));
    }
    return inboxes.entrySet().stream()
        .map(each -> PlannedInbox.of(each.getKey(), each.getValue(), inbox, jdbc))
        .toList();
  }

  /**
   * The inbox.
   *
   * @param enabled Whether handlers get an inbox.
   * @param name Name in events, meters and tables. One set of tables belongs to one name.
   * @param backgroundProcessing Whether the inbox starts with the application.
   * @param sources Whether brokers feed the channels that name one.
   * @param batchSize Rows that are read or settled in one go at most.
   * @param notifying Whether nodes wake each other through the database. PostgreSQL only.
   * @param lanes Slices of the inbox. Fixed at the first start.
   * @param beat How often a node gives a sign of life.
   * @param deadAfter Silence after which other nodes take over. At least three beats.
   * @param restartDelay Pause before a loop of the engine that failed starts again.
   * @param stopGrace How long sources and running attempts may continue after a stop. close()
   *     returns within this time plus 2 s, whatever the database does.
   * @param concurrency Attempts of one handler at once on one node. Default 8, or as many as the
   *     connection pool can bear.
   * @param threads What runs handlers. With auto, virtual threads where
   *     spring.threads.virtual.enabled says so, else those of the operating system.
   * @param handlerTimeout Time limit of attempts of annotated handlers that name none.
   * @param maxPayloadSize Larger payloads are rejected.
   * @param unknownKeyGrace How long deliveries wait for a node that knows their key.
   * @param maxCrashes Lone runs that may end their process before a delivery is poisoned.
   * @param maxBacklog Fresh deliveries that may wait before sources are paused.
   * @param maxHandlerBacklog Fresh deliveries that may wait for one handler before it is called
   *     behind.
   * @param missingId What happens to messages without an id, in channels that are no beans.
   * @param onConflict What happens to a known id with other content or another type, in channels
   *     that are no beans.
   * @param unhandled What happens to messages that no handler takes, in channels that are no beans.
   */
  public record Inbox(
      @DefaultValue("true") boolean enabled,
      @DefaultValue("inbox") String name,
      @DefaultValue("true") boolean backgroundProcessing,
      @DefaultValue("true") boolean sources,
      @DefaultValue Retry retry,
      @DefaultValue Polling polling,
      @DefaultValue("500") int batchSize,
      @Name("notify") @DefaultValue("false") boolean notifying,
      @DefaultValue("64") int lanes,
      @DefaultValue("2s") Duration beat,
      @DefaultValue("8s") Duration deadAfter,
      @DefaultValue("5s") Duration restartDelay,
      @DefaultValue("25s") Duration stopGrace,
      @Nullable Integer concurrency,
      @DefaultValue("auto") Threads threads,
      @Nullable Duration handlerTimeout,
      @DefaultValue("1000000B") DataSize maxPayloadSize,
      @DefaultValue("10m") Duration unknownKeyGrace,
      @DefaultValue("3") int maxCrashes,
      @DefaultValue("50000") int maxBacklog,
      @DefaultValue("10000") int maxHandlerBacklog,
      @DefaultValue("reject") OnMissingId missingId,
      @DefaultValue("keep") OnConflict onConflict,
      @DefaultValue("keep") Unhandled unhandled,
      @DefaultValue Retention retention) {}

  /**
   * One of several inboxes. What is not given is as for all.
   *
   * @param dataSource Bean of its DataSource. Default the one that a single inbox would take.
   * @param transactionManager Bean of its transaction manager. Default the one that a single inbox
   *     would take.
   * @param databaseSchema Schema of its tables; on MariaDB a database.
   * @param tablePrefix Begin of the names of its tables.
   * @param channels Channels that it takes. Default all that no other takes.
   * @param backgroundProcessing Whether the inbox starts with the application.
   * @param batchSize Rows that are read or settled in one go at most.
   * @param notifying Whether nodes wake each other through the database. PostgreSQL only.
   * @param lanes Slices of the inbox. Fixed at the first start.
   * @param beat How often a node gives a sign of life.
   * @param deadAfter Silence after which other nodes take over. At least three beats.
   * @param restartDelay Pause before a loop of the engine that failed starts again.
   * @param stopGrace How long sources and running attempts may continue after a stop. close()
   *     returns within this time plus 2 s, whatever the database does.
   * @param concurrency Attempts of one handler at once on one node. Default 8, or as many as the
   *     connection pool can bear.
   * @param handlerTimeout Time limit of attempts of annotated handlers that name none.
   * @param maxPayloadSize Larger payloads are rejected.
   * @param unknownKeyGrace How long deliveries wait for a node that knows their key.
   * @param maxCrashes Lone runs that may end their process before a delivery is poisoned.
   * @param maxBacklog Fresh deliveries that may wait before sources are paused.
   * @param maxHandlerBacklog Fresh deliveries that may wait for one handler before it is called
   *     behind.
   * @param missingId What happens to messages without an id, in channels that are no beans.
   * @param onConflict What happens to a known id with other content or another type, in channels
   *     that are no beans.
   * @param unhandled What happens to messages that no handler takes, in channels that are no beans.
   */
  @ConfigurationPropertiesSource
  public record NamedInbox(
      @Nullable String dataSource,
      @Nullable String transactionManager,
      @Nullable String databaseSchema,
      @Nullable String tablePrefix,
      @Nullable List<String> channels,
      @Nullable Boolean backgroundProcessing,
      @Nullable OwnRetry retry,
      @Nullable OwnPolling polling,
      @Nullable Integer batchSize,
      @Name("notify") @Nullable Boolean notifying,
      @Nullable Integer lanes,
      @Nullable Duration beat,
      @Nullable Duration deadAfter,
      @Nullable Duration restartDelay,
      @Nullable Duration stopGrace,
      @Nullable Integer concurrency,
      @Nullable Duration handlerTimeout,
      @Nullable DataSize maxPayloadSize,
      @Nullable Duration unknownKeyGrace,
      @Nullable Integer maxCrashes,
      @Nullable Integer maxBacklog,
      @Nullable Integer maxHandlerBacklog,
      @Nullable OnMissingId missingId,
      @Nullable OnConflict onConflict,
      @Nullable Unhandled unhandled,
      @Nullable Retention retention) {

    /** With what is said of all, where it says nothing. */
    Inbox or(String name, Inbox all) {
      return new Inbox(
          all.enabled,
          name,
          either(backgroundProcessing, all.backgroundProcessing),
          all.sources,
          retry == null ? all.retry : retry.or(all.retry),
          polling == null ? all.polling : polling.or(all.polling),
          either(batchSize, all.batchSize),
          either(notifying, all.notifying),
          either(lanes, all.lanes),
          either(beat, all.beat),
          either(deadAfter, all.deadAfter),
          either(restartDelay, all.restartDelay),
          either(stopGrace, all.stopGrace),
          concurrency == null ? all.concurrency : concurrency,
          all.threads,
          handlerTimeout == null ? all.handlerTimeout : handlerTimeout,
          either(maxPayloadSize, all.maxPayloadSize),
          either(unknownKeyGrace, all.unknownKeyGrace),
          either(maxCrashes, all.maxCrashes),
          either(maxBacklog, all.maxBacklog),
          either(maxHandlerBacklog, all.maxHandlerBacklog),
          either(missingId, all.missingId),
          either(onConflict, all.onConflict),
          either(unhandled, all.unhandled),
          retention == null ? all.retention : retention.or(all.retention));
    }

    Jdbc or(Jdbc all) {
      return new Jdbc(
          all.initializeSchema,
          databaseSchema == null ? all.databaseSchema : databaseSchema,
          either(tablePrefix, all.tablePrefix));
    }

    private static <T> T either(@Nullable T own, T all) {
      return own == null ? all : own;
    }
  }

  /**
   * How often an idle store is looked at, for one inbox.
   *
   * @param min Shortest wait between looks.
   * @param max Longest wait between looks.
   */
  public record OwnPolling(@Nullable Duration min, @Nullable Duration max) {

    Polling or(Polling all) {
      return new Polling(min == null ? all.min : min, max == null ? all.max : max);
    }
  }

  /** What runs handlers. */
  public enum Threads {
    /** Virtual threads if {@code spring.threads.virtual.enabled} says so. */
    AUTO,
    /** Threads of the operating system. */
    PLATFORM,
    /** Virtual threads, from Java 21 on. */
    VIRTUAL
  }

  /**
   * When failed attempts are tried again.
   *
   * @param maxAttempts Attempts in all, the first included.
   * @param maxUncounted Attempts of one delivery that an error of the database may end without
   *     counting.
   * @param initialDelay Wait after the first failure. It doubles with each further one.
   * @param maxDelay No wait is longer.
   * @param jitter Whether waits are shortened by a random part, up to a half.
   */
  public record Retry(
      @DefaultValue("5") int maxAttempts,
      @DefaultValue("20") int maxUncounted,
      @DefaultValue("2s") Duration initialDelay,
      @DefaultValue("5m") Duration maxDelay,
      @DefaultValue("true") boolean jitter) {

    RetryPolicy policy() {
      RetryPolicy policy =
          RetryPolicy.exponential(initialDelay)
              .cappedAt(maxDelay)
              .maxAttempts(maxAttempts)
              .maxUncounted(maxUncounted);
      return jitter ? policy : policy.withoutJitter();
    }
  }

  /**
   * How often an idle store is looked at.
   *
   * @param min Shortest wait between looks.
   * @param max Longest wait between looks.
   */
  public record Polling(@DefaultValue("100ms") Duration min, @DefaultValue("1s") Duration max) {}

  /**
   * What is forgotten, and when. Nothing, unless it is said.
   *
   * @param keepReceipts How long a message is known after its last completion. Default for ever.
   * @param keepPayload How long its content is kept after that. Default as long as the message.
   * @param keepPoisoned How long messages with poisoned deliveries are kept. Default for ever.
   */
  public record Retention(
      @Nullable Duration keepReceipts,
      @Nullable Duration keepPayload,
      @Nullable Duration keepPoisoned) {

    Retention or(Retention all) {
      return new Retention(
          keepReceipts == null ? all.keepReceipts : keepReceipts,
          keepPayload == null ? all.keepPayload : keepPayload,
          keepPoisoned == null ? all.keepPoisoned : keepPoisoned);
    }
  }

  /**
   * The tables.
   *
   * @param initializeSchema When tables are created and migrated at start.
   * @param databaseSchema Schema of the tables; on MariaDB a database. Default that of the
   *     connection.
   * @param tablePrefix Begin of the names of all tables.
   */
  public record Jdbc(
      @DefaultValue("embedded") DatabaseInitializationMode initializeSchema,
      @Nullable String databaseSchema,
      @DefaultValue("pigeonhole_") String tablePrefix) {}

  /**
   * The guard of methods that run once.
   *
   * @param keepReceipts How long what has run is known.
   * @param waitAtMost How long a copy waits for the first run.
   * @param transactionTimeout How long a body may take.
   * @param keepAnswers How long answers are kept. Default as long as the receipt.
   * @param maxAnswerSize Larger answers roll the run back.
   */
  public record Guard(
      @DefaultValue("7d") Duration keepReceipts,
      @Name("wait") @DefaultValue("5s") Duration waitAtMost,
      @DefaultValue("30s") Duration transactionTimeout,
      @Nullable Duration keepAnswers,
      @DefaultValue("64KB") DataSize maxAnswerSize) {}

  /**
   * The guard that keeps its leases in Redis.
   *
   * @param enabled Whether there is one, on the Redis of spring.data.redis.
   * @param lease How long a crash of its owner blocks a key. A living owner renews it.
   * @param waitAtMost How long a copy waits for the first run.
   * @param keepReceipts How long what has run is known.
   * @param maxAnswerSize Larger answers fail the run.
   * @param keyPrefix Begin of the names of all keys in Redis.
   */
  public record LeaseGuard(
      @DefaultValue("false") boolean enabled,
      @DefaultValue("30s") Duration lease,
      @Name("wait") @DefaultValue("5s") Duration waitAtMost,
      @DefaultValue("7d") Duration keepReceipts,
      @DefaultValue("64KB") DataSize maxAnswerSize,
      @DefaultValue("pigeonhole:guard:") String keyPrefix) {}

  /**
   * The outbox.
   *
   * @param enabled Whether there is an outbox. Its routes come from beans of OutboxCustomizer.
   * @param name Name in events, meters and tables.
   * @param backgroundProcessing Whether the relay starts with the application.
   * @param sendTimeout How long a broker may take to confirm.
   * @param maxMessageSize Larger messages are refused.
   * @param keep How long what was sent is known.
   */
  public record Outbox(
      @DefaultValue("false") boolean enabled,
      @DefaultValue("outbox") String name,
      @DefaultValue("true") boolean backgroundProcessing,
      @DefaultValue("30s") Duration sendTimeout,
      @DefaultValue("1000000B") DataSize maxMessageSize,
      @DefaultValue OutboxRetry retry,
      @DefaultValue("7d") Duration keep) {}

  /**
   * When what could not be sent is tried again. Other defaults than those of handlers: while a
   * broker is down, all messages fail, and none of them is to blame.
   *
   * @param maxAttempts Attempts in all, the first included. With fewer than 20, messages are
   *     poisoned while a broker is down.
   * @param initialDelay Wait after the first failure. It doubles with each further one.
   * @param maxDelay No wait is longer.
   * @param jitter Whether waits are shortened by a random part, up to a half.
   */
  public record OutboxRetry(
      @DefaultValue("1000") int maxAttempts,
      @DefaultValue("1s") Duration initialDelay,
      @DefaultValue("1m") Duration maxDelay,
      @DefaultValue("true") boolean jitter) {

    Retry asOthers() {
      return new Retry(maxAttempts, 0, initialDelay, maxDelay, jitter); // sends in no transaction
    }
  }

  /**
   * Meters and traces.
   *
   * @param openTelemetryNames Whether attempts have the names of OpenTelemetry, which are not
   *     stable yet.
   * @param inTraceOfMessage Whether attempts belong to the trace that the message came with,
   *     instead of being linked to it.
   */
  public record Observations(
      @DefaultValue("false") boolean openTelemetryNames,
      @DefaultValue("false") boolean inTraceOfMessage) {}

  /**
   * An annotated handler. What is not given is as its annotation says, or as for all.
   *
   * @param timeout Time limit of an attempt.
   * @param concurrency Attempts at once on one node.
   * @param rate Attempts that begin in a second, on all nodes together.
   */
  @ConfigurationPropertiesSource
  public record Handler(
      @Nullable OwnRetry retry,
      @Nullable Duration timeout,
      @Nullable Integer concurrency,
      @Nullable Double rate) {}

  /**
   * When failed attempts of one handler, or in one inbox, are tried again. What is not given is as
   * for all.
   *
   * @param maxAttempts Attempts in all, the first included.
   * @param maxUncounted Attempts of one delivery that an error of the database may end without
   *     counting.
   * @param initialDelay Wait after the first failure. It doubles with each further one.
   * @param maxDelay No wait is longer.
   * @param jitter Whether waits are shortened by a random part, up to a half.
   */
  public record OwnRetry(
      @Nullable Integer maxAttempts,
      @Nullable Integer maxUncounted,
      @Nullable Duration initialDelay,
      @Nullable Duration maxDelay,
      @Nullable Boolean jitter) {

    /** With what others have, where it says nothing. */
    Retry or(Retry others) {
      return new Retry(
          maxAttempts == null ? others.maxAttempts : maxAttempts,
          maxUncounted == null ? others.maxUncounted : maxUncounted,
          initialDelay == null ? others.initialDelay : initialDelay,
          maxDelay == null ? others.maxDelay : maxDelay,
          jitter == null ? others.jitter : jitter);
    }
  }

  /**
   * A channel, whether it is a bean or only named by handlers.
   *
   * @param mode Whether its handlers run later, or at once on the thread that hands messages in.
   * @param transport Where its messages come from, besides the application itself.
   * @param destination Queue or topic. Default the name of the channel.
   * @param group Consumer group of Kafka. Default that of spring.kafka.consumer.
   * @param refused Where messages go that cannot be taken: an exchange of RabbitMQ, with the name
   *     of the queue as routing key, or a topic of Kafka.
   * @param concurrency Consumers of a queue on one node.
   * @param missingId What happens to messages without an id.
   * @param onConflict What happens to a known id with other content or another type.
   * @param unhandled What happens to messages that no handler takes.
   */
  @ConfigurationPropertiesSource
  public record Channel(
      @Nullable Mode mode,
      @Nullable Transport transport,
      @Nullable String destination,
      @Nullable String group,
      @Nullable String refused,
      @Nullable Integer concurrency,
      @Nullable OnMissingId missingId,
      @Nullable OnConflict onConflict,
      @Nullable Unhandled unhandled) {}

  /** When handlers of a channel run. */
  public enum Mode {
    /** Later, from the store. */
    STORED,
    /** At once, on the thread that hands a message in. */
    INLINE
  }

  /** Where messages come from. */
  public enum Transport {
    /** A queue, by the connection of {@code spring.rabbitmq}. */
    RABBITMQ,
    /** A topic, by the settings of {@code spring.kafka}. */
    KAFKA
  }
}
