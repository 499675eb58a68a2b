package dev.pigeonhole.examples.docs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.ChannelBuilder;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.GuardBuilder;
import dev.pigeonhole.HandlerOption;
import dev.pigeonhole.InboxBuilder;
import dev.pigeonhole.PigeonholeBuilder;
import dev.pigeonhole.RetryPolicy;
import dev.pigeonhole.TypeBuilder;
import dev.pigeonhole.cloudevents.CloudEventMapper;
import dev.pigeonhole.http.IdempotentEndpoint;
import dev.pigeonhole.jdbc.JdbcStore;
import dev.pigeonhole.jdbc.Schema;
import dev.pigeonhole.kafka.KafkaSource;
import dev.pigeonhole.kafka.KafkaTransport;
import dev.pigeonhole.lease.LeaseGuard;
import dev.pigeonhole.micrometer.GaugeOptions;
import dev.pigeonhole.micrometer.ProcessObservations;
import dev.pigeonhole.micrometer.RelayObservations;
import dev.pigeonhole.outbox.OutboxBuilder;
import dev.pigeonhole.outbox.Route;
import dev.pigeonhole.rabbitmq.RabbitQueue;
import dev.pigeonhole.rabbitmq.RabbitSource;
import dev.pigeonhole.rabbitmq.RabbitTopology;
import dev.pigeonhole.rabbitmq.RabbitTransport;
import dev.pigeonhole.redis.RedisGuardStore;
import dev.pigeonhole.transport.PlainMapper;
import dev.pigeonhole.webhook.HmacSignature;
import dev.pigeonhole.webhook.OutgoingHttp;
import dev.pigeonhole.webhook.Webhook;
import dev.pigeonhole.webhook.WebhookServer;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** The documentation shows code that runs, links that lead somewhere, and every option. */
class DocumentationTest {
  private static final Pattern SNIPPET = Pattern.compile("<!-- snippet:([\\w-]+) -->");
  private static final Pattern CODE = Pattern.compile("PH-[A-Z]{2,3}-\\d\\d");

  @Test
  void everyJavaBlockIsARegionOfCompiledCode() {
    TreeMap<String, List<String>> regions = Documents.regions();
    List<String> problems = new ArrayList<>();
    for (Path file : Documents.markdown()) {
      for (Documents.Block block : Documents.blocks(file)) {
        if (!block.language().equals("java")) {
          continue;
        }
        Matcher name = SNIPPET.matcher(block.before().strip());
        if (!name.matches()) {
          problems.add(block.where() + " has no <!-- snippet:name --> in the line before it");
        } else if (!regions.containsKey(name.group(1))) {
          problems.add(block.where() + ": there is no region " + name.group(1));
        } else if (!regions.get(name.group(1)).equals(block.lines())) {
          problems.add(
              "%s is not what stands in region %s:%n%s"
                  .formatted(
                      block.where(), name.group(1), String.join("\n", regions.get(name.group(1)))));
        }
      }
    }
    assertThat(problems).isEmpty();
  }

  @Test
  void everyRelativeLinkLeadsSomewhere() {
    List<String> problems = new ArrayList<>();
    for (Path file : Documents.markdown()) {
      for (Documents.Link link : Documents.links(file)) {
        if (link.target().matches("(https?|mailto):.*")) {
          continue;
        }
        String[] parts = link.target().split("#", 2);
        Path target = parts[0].isEmpty() ? file : file.resolveSibling(parts[0]).normalize();
        if (!Files.exists(target)) {
          problems.add(link.where() + ": " + link.target() + " does not exist");
        } else if (parts.length > 1 && !Documents.anchors(target).contains(parts[1])) {
          problems.add(link.where() + ": " + link.target() + " has no such heading");
        }
      }
    }
    assertThat(problems).isEmpty();
  }

  /** Two versions of one paragraph, as two changes that were made at once leave them. */
  @Test
  void noParagraphStandsTwiceOnAPage() {
    int same = 80;
    List<String> problems = new ArrayList<>();
    for (Path file : Documents.markdown()) {
      Set<String> begins = new HashSet<>();
      for (String line : Documents.prose(file)) {
        if (line.length() >= same && !begins.add(line.substring(0, same))) {
          problems.add(Documents.ROOT.relativize(file) + ": " + line.substring(0, same));
        }
      }
    }
    assertThat(problems).isEmpty();
  }

  /** There it is made from the schema, and run; see {@link RunbookTest}. */
  @Test
  void sqlStandsOnThePageForOperatorsAlone() {
    Path page = Documents.ROOT.resolve("docs/sql.md");
    List<String> problems = new ArrayList<>();
    for (Path file : Documents.markdown()) {
      for (Documents.Block block : Documents.blocks(file)) {
        if (block.language().equals("sql") && !file.equals(page)) {
          problems.add(block.where());
        }
      }
    }
    assertThat(problems).isEmpty();
    assertThat(Documents.blocks(page)).hasSize(3 * RunbookSql.ALL.size());
  }

  @Test
  void everyErrorCodeThatIsMentionedExists() {
    Set<String> known =
        Arrays.stream(ErrorCode.values()).map(ErrorCode::text).collect(Collectors.toSet());
    Set<String> unknown = new TreeSet<>();
    for (Path file : Documents.markdown()) {
      Matcher code = CODE.matcher(String.join("\n", Documents.lines(file)));
      while (code.find()) {
        if (!known.contains(code.group())) {
          unknown.add(Documents.ROOT.relativize(file) + ": " + code.group());
        }
      }
    }
    assertThat(unknown).isEmpty();
  }

  @Test
  void everyOptionIsDocumented() {
    String text =
        String.join("\n", Documents.lines(Documents.ROOT.resolve("docs/configuration.md")));
    List<String> missing = new ArrayList<>();
    for (Class<?> type :
        List.of(
            InboxBuilder.class,
            ChannelBuilder.class,
            TypeBuilder.class,
            HandlerOption.class,
            RetryPolicy.class,
            PigeonholeBuilder.class,
            GuardBuilder.class,
            IdempotentEndpoint.class,
            JdbcStore.class,
            Schema.class,
            LeaseGuard.class,
            RedisGuardStore.class,
            Webhook.class,
            HmacSignature.class,
            WebhookServer.class,
            OutgoingHttp.class,
            RabbitSource.class,
            RabbitTransport.class,
            RabbitQueue.class,
            RabbitTopology.class,
            KafkaSource.class,
            KafkaTransport.class,
            PlainMapper.class,
            CloudEventMapper.class,
            OutboxBuilder.class,
            GaugeOptions.class,
            ProcessObservations.class,
            RelayObservations.class,
            Route.class)) {
      for (Method method : type.getDeclaredMethods()) {
        if (isOption(type, method) && !text.contains("`" + method.getName() + "(")) {
          missing.add(type.getSimpleName() + "." + method.getName());
        }
      }
    }
    assertThat(missing).isEmpty();
  }

  /** Options answer their own kind again; ends of a chain and questions do not. */
  private static boolean isOption(Class<?> type, Method method) {
    return Modifier.isPublic(method.getModifiers())
        && !method.isSynthetic()
        && (method.getReturnType() == type || type == TypeBuilder.class)
        && !List.of("build", "of", "ofDefaults").contains(method.getName());
  }

  @Test
  void e30_whoFindsAVulnerabilityKnowsWhatToDo() {
    List<String> lines = Documents.lines(Documents.ROOT.resolve("SECURITY.md"));
    assertThat(lines).contains("## Reporting", "## Supported versions", "## Threat model");
    String text = String.join(" ", lines);
    assertThat(text)
        .contains("private security advisory")
        .contains("write to the broker", "write to the database", "read the log")
        .contains("administration interface");
  }
}
