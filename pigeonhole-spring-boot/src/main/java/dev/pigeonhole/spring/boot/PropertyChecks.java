package dev.pigeonhole.spring.boot;

import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.ConfigurationException.Problem;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.jdbc.Schema;
import dev.pigeonhole.spring.boot.PigeonholeProperties.Channel;
import dev.pigeonhole.spring.boot.PigeonholeProperties.Guard;
import dev.pigeonhole.spring.boot.PigeonholeProperties.Handler;
import dev.pigeonhole.spring.boot.PigeonholeProperties.Inbox;
import dev.pigeonhole.spring.boot.PigeonholeProperties.Jdbc;
import dev.pigeonhole.spring.boot.PigeonholeProperties.LeaseGuard;
import dev.pigeonhole.spring.boot.PigeonholeProperties.NamedInbox;
import dev.pigeonhole.spring.boot.PigeonholeProperties.Outbox;
import dev.pigeonhole.spring.boot.PigeonholeProperties.Retry;
import dev.pigeonhole.spring.boot.PigeonholeProperties.Transport;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.convert.DurationStyle;
import org.springframework.util.unit.DataSize;

/** The ranges of the engine, by the names of properties. The engine checks them again. */
final class PropertyChecks {
  private static final Duration YEAR = Duration.ofDays(365);
  private static final Duration CENTURY = Duration.ofDays(36_500);

  private final List<Problem> problems = new ArrayList<>();

  private PropertyChecks() {}

  static void check(
      Inbox inbox,
      Map<String, NamedInbox> inboxes,
      Jdbc jdbc,
      Guard guard,
      LeaseGuard leaseGuard,
      Outbox outbox,
      Map<String, Handler> handlers,
      Map<String, Channel> channels) {
    PropertyChecks checks = new PropertyChecks();
    checks.inbox("pigeonhole.inbox.", inbox);
    checks.jdbc("pigeonhole.jdbc.", jdbc);
    if (checks.problems.isEmpty()) {
      checks.inboxes(inboxes, inbox, jdbc, outbox);
    }
    checks.guard(guard);
    checks.leaseGuard(leaseGuard);
    checks.outbox(outbox);
    handlers.forEach(checks::handler);
    if (inboxes.isEmpty()) {
      handlers.forEach((key, handler) -> checks.retryOf(key, handler, inbox.retry()));
    }
    channels.forEach(checks::channel);
    checks.refuse();
  }

  /**
   * Retries of handlers, which inherit from the inbox that they are in: of several, nobody knows
   * which one that is before all handlers are found.
   */
  static void checkRetries(Map<String, Handler> handlers, Function<String, Retry> ofInbox) {
    PropertyChecks checks = new PropertyChecks();
    handlers.forEach((key, handler) -> checks.retryOf(key, handler, ofInbox.apply(key)));
    checks.refuse();
  }

  private void refuse() {
    if (!problems.isEmpty()) {
      throw new ConfigurationException(problems);
    }
  }

  /** What is wrong with that of all is not told again for each. */
  private void inboxes(Map<String, NamedInbox> inboxes, Inbox inbox, Jdbc jdbc, Outbox outbox) {
    Map<String, String> channels = new HashMap<>();
    Map<List<Object>, String> tables = new HashMap<>();
    String rest = null;
    for (Map.Entry<String, NamedInbox> entry : inboxes.entrySet()) {
      PlannedInbox each = PlannedInbox.of(entry.getKey(), entry.getValue(), inbox, jdbc);
      String at = each.property() + ".";
      inbox(at, each.options());
      jdbc(at, each.tables());
      List<String> named = each.channels();
      if (named == null) {
        if (rest != null) {
          twice(rest + "channels", at + "channels", "say nothing, so both would take what is left");
        }
        rest = at;
      } else {
        for (String channel : named) {
          String first = channels.putIfAbsent(channel, at);
          if (first != null) {
            twice(first + "channels", at + "channels", "both take '%s'".formatted(channel));
          }
        }
      }
      String first = tables.putIfAbsent(whereTablesAre(each), at);
      if (first != null) {
        problems.add(
            new Problem(
                ErrorCode.INBOX_TAKEN,
                ("%s and %s have the same tables. Give one of them another data-source,"
                        + " database-schema or table-prefix.")
                    .formatted(withoutDot(first), withoutDot(at))));
      }
    }
    if (outbox.enabled() && !inboxes.isEmpty()) {
      problems.add(
          new Problem(
              ErrorCode.OPTION_NOT_APPLICABLE,
              "pigeonhole.outbox.enabled: with pigeonhole.inboxes nobody can say on which of their"
                  + " databases. Declare a bean of Outbox on the store of one, and give it to that"
                  + " inbox with an InboxCustomizer."));
    }
  }

  private static List<Object> whereTablesAre(PlannedInbox inbox) {
    return Arrays.asList(
        inbox.dataSource(), inbox.tables().databaseSchema(), inbox.tables().tablePrefix());
  }

  private static String withoutDot(String at) {
    return at.substring(0, at.length() - 1);
  }

  private void twice(String one, String two, String what) {
    problems.add(
        new Problem(
            ErrorCode.CHANNEL_TWICE,
            "%s and %s %s. Name the channels of each.".formatted(one, two, what)));
  }

  private void inbox(String at, Inbox inbox) {
    retry(at + "retry.", inbox.retry());
    time(at + "polling.min", inbox.polling().min(), Duration.ofMillis(1), YEAR);
    time(at + "polling.max", inbox.polling().max(), inbox.polling().min(), YEAR);
    number(at + "batch-size", inbox.batchSize(), 1, 10_000);
    number(at + "lanes", inbox.lanes(), 1, 4_096);
    number(at + "concurrency", inbox.concurrency(), 1, 10_000);
    number(at + "max-crashes", inbox.maxCrashes(), 1, 1_000);
    number(at + "max-backlog", inbox.maxBacklog(), 1, 1_000_000_000);
    number(at + "max-handler-backlog", inbox.maxHandlerBacklog(), 1, 1_000_000);
    beats(at, inbox);
    time(at + "restart-delay", inbox.restartDelay(), Duration.ZERO, YEAR);
    time(at + "stop-grace", inbox.stopGrace(), Duration.ZERO, YEAR);
    time(at + "unknown-key-grace", inbox.unknownKeyGrace(), Duration.ZERO, YEAR);
    timeout(at + "handler-timeout", inbox.handlerTimeout());
    size(at + "max-payload-size", inbox.maxPayloadSize());
    kept(at + "retention.keep-receipts", inbox.retention().keepReceipts(), Duration.ofSeconds(1));
    kept(at + "retention.keep-payload", inbox.retention().keepPayload(), Duration.ofSeconds(1));
    kept(at + "retention.keep-poisoned", inbox.retention().keepPoisoned(), Duration.ofDays(30));
  }

  private void beats(String at, Inbox inbox) {
    between(ErrorCode.BEAT_INVALID, at + "beat", inbox.beat(), Duration.ofMillis(10), YEAR, "10ms");
    if (inbox.deadAfter().compareTo(inbox.beat().multipliedBy(3)) < 0) {
      problems.add(
          new Problem(
              ErrorCode.BEAT_INVALID,
              ("%sdead-after is %s, and %sbeat is %s: a node that misses one beat would be taken"
                      + " for dead. Make dead-after at least three beats, %s.")
                  .formatted(
                      at,
                      text(inbox.deadAfter()),
                      at,
                      text(inbox.beat()),
                      text(inbox.beat().multipliedBy(3)))));
    }
  }

  private void jdbc(String at, Jdbc jdbc) {
    try {
      Schema.ofDefaults().prefix(jdbc.tablePrefix());
    } catch (ConfigurationException e) {
      named(at + "table-prefix", e);
    }
    if (jdbc.databaseSchema() != null) {
      try {
        Schema.ofDefaults().schema(jdbc.databaseSchema());
      } catch (ConfigurationException e) {
        named(at + "database-schema", e);
      }
    }
  }

  private void named(String property, ConfigurationException e) {
    for (Problem each : e.problems()) {
      problems.add(new Problem(each.code(), property + ": " + each.text()));
    }
  }

  private void guard(Guard guard) {
    String at = "pigeonhole.guard.";
    kept(at + "keep-receipts", guard.keepReceipts(), Duration.ofSeconds(1));
    kept(at + "keep-answers", guard.keepAnswers(), Duration.ofSeconds(1));
    time(at + "wait", guard.waitAtMost(), Duration.ofMillis(1), Duration.ofSeconds(20));
    time(
        at + "transaction-timeout",
        guard.transactionTimeout(),
        Duration.ofMillis(100),
        Duration.ofHours(1));
    size(at + "max-answer-size", guard.maxAnswerSize());
  }

  private void leaseGuard(LeaseGuard guard) {
    String at = "pigeonhole.lease-guard.";
    time(at + "lease", guard.lease(), Duration.ofMillis(100), YEAR);
    time(at + "wait", guard.waitAtMost(), Duration.ZERO, Duration.ofMinutes(5));
    kept(at + "keep-receipts", guard.keepReceipts(), Duration.ofSeconds(1));
    size(at + "max-answer-size", guard.maxAnswerSize());
  }

  private void outbox(Outbox outbox) {
    String at = "pigeonhole.outbox.";
    retry(at + "retry.", outbox.retry().asOthers());
    Duration least = Duration.ofMillis(1);
    Duration most = Duration.ofHours(1);
    between(
        ErrorCode.TIMEOUT_INVALID, at + "send-timeout", outbox.sendTimeout(), least, most, "1ms");
    kept(at + "keep", outbox.keep(), Duration.ofSeconds(1));
    size(at + "max-message-size", outbox.maxMessageSize());
  }

  private void retryOf(String key, Handler handler, Retry others) {
    if (handler.retry() != null) {
      retry("pigeonhole.handlers." + key + ".retry.", handler.retry().or(others));
    }
  }

  private void handler(String key, Handler handler) {
    String at = "pigeonhole.handlers." + key + ".";
    timeout(at + "timeout", handler.timeout());
    number(at + "concurrency", handler.concurrency(), 1, 10_000);
    Double rate = handler.rate();
    if (rate != null && !(rate >= 0.001 && rate <= 1_000_000)) {
      refuse(ErrorCode.RANGE_INVALID, at + "rate", rate + "", "0.001 to 1,000,000 in a second");
    }
  }

  private void channel(String name, Channel channel) {
    String at = "pigeonhole.channels." + name + ".";
    number(at + "concurrency", channel.concurrency(), 1, 1_000);
    if (channel.transport() == null) {
      fed(at + "destination", channel.destination());
      fed(at + "group", channel.group());
      fed(at + "refused", channel.refused());
      fed(at + "concurrency", channel.concurrency());
    } else if (channel.transport() == Transport.KAFKA && channel.concurrency() != null) {
      problems.add(
          new Problem(
              ErrorCode.OPTION_NOT_APPLICABLE,
              "%sconcurrency says nothing to Kafka, where partitions do. Remove it."
                  .formatted(at)));
    } else if (channel.transport() == Transport.RABBITMQ && channel.group() != null) {
      problems.add(
          new Problem(
              ErrorCode.OPTION_NOT_APPLICABLE,
              "%sgroup says nothing to RabbitMQ. Remove it.".formatted(at)));
    }
  }

  private void fed(String property, @Nullable Object value) {
    if (value != null) {
      problems.add(
          new Problem(
              ErrorCode.OPTION_NOT_APPLICABLE,
              "%s says nothing without a transport. Add %s: rabbitmq or kafka."
                  .formatted(
                      property, property.substring(0, property.lastIndexOf('.')) + ".transport")));
    }
  }

  private void retry(String at, Retry retry) {
    if (retry.maxAttempts() < 1) {
      refuse(
          ErrorCode.ATTEMPTS_INVALID,
          at + "max-attempts",
          retry.maxAttempts() + "",
          "at least 1, for the first attempt counts");
    }
    if (retry.maxUncounted() < 0) {
      refuse(
          ErrorCode.ATTEMPTS_INVALID,
          at + "max-uncounted",
          retry.maxUncounted() + "",
          "at least 0, which counts every attempt");
    }
    Duration least = Duration.ofNanos(1);
    between(
        ErrorCode.BACKOFF_INVALID, at + "initial-delay", retry.initialDelay(), least, YEAR, "1ns");
    if (retry.maxDelay().compareTo(retry.initialDelay()) < 0) {
      refuse(
          ErrorCode.BACKOFF_INVALID,
          at + "max-delay",
          text(retry.maxDelay()),
          "at least the initial-delay of " + text(retry.initialDelay()));
    }
  }

  private void timeout(String property, @Nullable Duration time) {
    if (time != null) {
      Duration least = Duration.ofNanos(1);
      between(ErrorCode.TIMEOUT_INVALID, property, time, least, YEAR, "1ns");
    }
  }

  private void kept(String property, @Nullable Duration time, Duration least) {
    if (time != null) {
      between(ErrorCode.RETENTION_INVALID, property, time, least, CENTURY, text(least));
    }
  }

  private void time(String property, Duration time, Duration least, Duration most) {
    between(ErrorCode.RANGE_INVALID, property, time, least, most, text(least));
  }

  private void between(
      ErrorCode code, String property, Duration time, Duration least, Duration most, String from) {
    if (time.compareTo(least) < 0 || time.compareTo(most) > 0) {
      refuse(code, property, text(time), from + " to " + text(most));
    }
  }

  private void number(String property, @Nullable Integer value, int least, int most) {
    if (value != null && (value < least || value > most)) {
      refuse(
          ErrorCode.RANGE_INVALID,
          property,
          value + "",
          String.format(Locale.ROOT, "%,d to %,d", least, most));
    }
  }

  private void size(String property, DataSize size) {
    if (size.toBytes() < 1 || size.toBytes() > 1_000_000_000) {
      refuse(ErrorCode.RANGE_INVALID, property, size + "", "1B to 1,000,000,000B");
    }
  }

  private void refuse(ErrorCode code, String property, String value, String range) {
    problems.add(new Problem(code, "%s is %s. Use %s.".formatted(property, value, range)));
  }

  /** As it is written in properties. */
  private static String text(Duration time) {
    if (time.compareTo(Duration.ofDays(1)) >= 0 && time.equals(Duration.ofDays(time.toDays()))) {
      return time.toDays() + "d";
    }
    return time.toMillis() % 1000 == 0 && !time.isZero()
        ? time.toSeconds() + "s"
        : DurationStyle.SIMPLE.print(time);
  }
}
