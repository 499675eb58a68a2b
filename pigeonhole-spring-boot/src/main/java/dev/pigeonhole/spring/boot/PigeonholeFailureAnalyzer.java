package dev.pigeonhole.spring.boot;

import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.ConfigurationException.Problem;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.InboxException;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.Order;

/**
 * Says what is wrong when an application does not start, without a stack: every problem with its
 * code, and where the way out is a property or a dependency, which one.
 */
@Order(Ordered.HIGHEST_PRECEDENCE)
final class PigeonholeFailureAnalyzer extends AbstractFailureAnalyzer<InboxException> {
  private static final String TABLES =
      "Set pigeonhole.jdbc.initialize-schema=always to let the application create and migrate them,"
          + " or run the statements yourself: they are in the jar pigeonhole-jdbc, in"
          + " pigeonhole/jdbc/schema/<database>/, and Schema.sql(…) prints them.";

  /** Where Spring Boot has another way out than the text, which speaks of builders. */
  private static final Map<ErrorCode, String> ACTIONS =
      Map.ofEntries(
          Map.entry(
              ErrorCode.POOL_TOO_SMALL,
              "Enlarge the pool with spring.datasource.hikari.maximum-pool-size, or lower"
                  + " pigeonhole.inbox.concurrency or pigeonhole.handlers.<key>.concurrency."),
          Map.entry(ErrorCode.SCHEMA_VERSION, TABLES),
          Map.entry(ErrorCode.SCHEMA_COLUMN, TABLES),
          Map.entry(ErrorCode.SCHEMA_INDEX, TABLES),
          Map.entry(
              ErrorCode.PAYLOAD_TYPE_REFUSED,
              "Add pigeonhole-jackson and spring-boot-starter-jackson, or declare a bean of"
                  + " PayloadCodec."),
          Map.entry(
              ErrorCode.INBOX_TAKEN,
              "Set pigeonhole.inbox.name to the name that the tables have, or another"
                  + " pigeonhole.jdbc.table-prefix."),
          Map.entry(ErrorCode.LANES_DIFFER, "Set pigeonhole.inbox.lanes to what the tables have."),
          Map.entry(
              ErrorCode.TX_MANAGER_FOREIGN,
              "Mark the transaction manager that owns the DataSource of the inbox with"
                  + " @PigeonholeTransactionManager, and the DataSource with @PigeonholeDataSource,"
                  + " or name the manager in @Transactional(\"…\"); one of several inboxes has it"
                  + " in pigeonhole.inboxes.<name>.transaction-manager."),
          Map.entry(
              ErrorCode.INBOX_REQUIRED,
              "Name the channel in pigeonhole.inboxes.<name>.channels, or let one of the inboxes"
                  + " name none: it takes what is left."),
          Map.entry(
              ErrorCode.CHANNEL_UNKNOWN,
              "Correct the name below pigeonhole.channels or in pigeonhole.inboxes, or add a method"
                  + " with @InboxHandler for that channel."),
          Map.entry(
              ErrorCode.HANDLER_KEY_UNKNOWN,
              "Correct the key below pigeonhole.handlers; one with dots stands in brackets:"
                  + " pigeonhole.handlers.[order.placed].timeout. Handlers of a bean of Channel or"
                  + " ChannelBuilder have their options in its code."),
          Map.entry(
              ErrorCode.DATABASE_UNSUPPORTED,
              "Use PostgreSQL, MariaDB or H2 for the DataSource of Pigeonhole; with several,"
                  + " mark one with @PigeonholeDataSource."),
          Map.entry(
              ErrorCode.DATABASE_UNREACHABLE,
              "Look at spring.datasource.url, and whether the database runs."),
          Map.entry(
              ErrorCode.DATABASE_LOCKED,
              "End the application that is still running, or name another file in"
                  + " spring.datasource.url."),
          Map.entry(
              ErrorCode.KAFKA_SETTING_REFUSED,
              "Correct what is below spring.kafka; the group is spring.kafka.consumer.group-id or"
                  + " pigeonhole.channels.<name>.group."));

  /** Failures of a store that somebody can mend without knowing our code. */
  private static final Set<ErrorCode> OF_STORES =
      Set.of(
          ErrorCode.DATABASE_UNREACHABLE,
          ErrorCode.DATABASE_LOCKED,
          ErrorCode.SCHEMA_VERSION,
          ErrorCode.DATABASE_UNSUPPORTED,
          ErrorCode.DATABASE_PRIVILEGE,
          ErrorCode.DATABASE_READ_ONLY);

  @Override
  protected @Nullable FailureAnalysis analyze(Throwable rootFailure, InboxException cause) {
    List<Problem> problems;
    if (cause instanceof ConfigurationException configuration) {
      problems = configuration.problems();
    } else if (OF_STORES.contains(cause.code())) {
      problems = List.of(new Problem(cause.code(), text(cause)));
    } else {
      return null;
    }
    return new FailureAnalysis(description(problems), action(problems), cause);
  }

  private static String text(InboxException cause) {
    String message = String.valueOf(cause.getMessage());
    String code = cause.code().text() + ": ";
    return message.startsWith(code) ? message.substring(code.length()) : message;
  }

  private static String description(List<Problem> problems) {
    if (problems.size() == 1) {
      return "Pigeonhole cannot start. " + problems.get(0);
    }
    return problems.stream()
        .map(each -> "    - " + each)
        .collect(
            Collectors.joining(
                "\n",
                "Pigeonhole cannot start, for %d reasons:\n\n".formatted(problems.size()),
                ""));
  }

  private static String action(List<Problem> problems) {
    Set<String> actions = new LinkedHashSet<>();
    Set<String> codes = new LinkedHashSet<>();
    for (Problem each : problems) {
      actions.add(ACTIONS.getOrDefault(each.code(), "Do what the text says."));
      codes.add(each.code().text());
    }
    return String.join("\n", actions)
        + "\n%s %s explained in docs/errors.md."
            .formatted(String.join(", ", codes), codes.size() == 1 ? "is" : "are");
  }
}
