package dev.pigeonhole.examples.docs;

import dev.pigeonhole.support.DatabaseKind;
import dev.pigeonhole.support.TestDatabase;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Types;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The questions an operator asks of the tables, written once and made into the SQL of each database
 * by looking at its real schema: how names are spelled there, and which texts are stored as bytes.
 */
final class RunbookSql {

  /**
   * A question with its SQL, in which {@code {table alias}}, {@code {alias.text}} and {@code {now}}
   * stand.
   */
  record Question(String title, String about, String template) {}

  static final List<Question> ALL =
      List.of(
          new Question(
              "Open work by handler",
              "What could run now, and since when the oldest of it has been there.",
              """
              SELECT {h.handler_key}, count(*) AS deliveries, min(m.received_at) AS oldest
              FROM (SELECT d.seq, d.key_id FROM {delivery d}
                    UNION ALL
                    SELECT l.seq, l.key_id FROM {later l} WHERE l.due_at <= {now}) o
              JOIN {handler h} ON h.key_id = o.key_id
              JOIN {message m} ON m.seq = o.seq
              GROUP BY h.handler_key
              """),
          new Question(
              "What waits, and why",
              "The reasons are `retry`, `later`, `not before`, `priority`, `blocked`, `released`,"
                  + " `operator` and `replay`. Without a time it waits in a blocked key.",
              """
              SELECT {h.handler_key}, {l.reason}, count(*) AS deliveries, min(l.due_at) AS next_due
              FROM {later l}
              JOIN {handler h} ON h.key_id = l.key_id
              GROUP BY h.handler_key, l.reason
              """),
          new Question(
              "Poison by kind",
              "One line for each handler and kind of failure: begin with the longest.",
              """
              SELECT {h.handler_key}, {p.error_code}, {p.error_type}, {p.fingerprint},
                     count(*) AS deliveries, max(p.poisoned_at) AS newest
              FROM {poison p}
              JOIN {handler h} ON h.key_id = p.key_id
              GROUP BY h.handler_key, p.error_code, p.error_type, p.fingerprint
              ORDER BY deliveries DESC
              """),
          new Question(
              "The newest poisoned deliveries",
              "With the identity of their messages, which `retry`, `complete` and `discard` want.",
              """
              SELECT {m.source}, {m.id}, {m.type}, {h.handler_key}, p.poisoned_at, p.failures,
                     {p.error_code}, {p.error_text}
              FROM {poison p}
              JOIN {handler h} ON h.key_id = p.key_id
              JOIN {message m} ON m.seq = p.seq
              ORDER BY p.poisoned_at DESC
              LIMIT 20
              """),
          new Question(
              "One message through its life",
              "A line for each handler, wherever its delivery stands. What was cut off counts for nobody:"
                  + " a procedure has committed it before the end of a guarded run.",
              """
              SELECT {h.handler_key}, CASE r.outcome WHEN 1 THEN 'discarded' WHEN 2 THEN 'cut off' ELSE 'completed' END AS state,
                     r.completed_at AS since, r.failures
              FROM {message m}
              JOIN {receipt r} ON r.seq = m.seq
              JOIN {handler h} ON h.key_id = r.key_id
              WHERE m.source = 'orders' AND m.id = 'm-1'
              UNION ALL
              SELECT {h.handler_key}, 'poisoned', p.poisoned_at, p.failures
              FROM {message m}
              JOIN {poison p} ON p.seq = m.seq
              JOIN {handler h} ON h.key_id = p.key_id
              WHERE m.source = 'orders' AND m.id = 'm-1'
              UNION ALL
              SELECT {h.handler_key}, 'waiting', l.due_at, l.failures
              FROM {message m}
              JOIN {later l} ON l.seq = m.seq
              JOIN {handler h} ON h.key_id = l.key_id
              WHERE m.source = 'orders' AND m.id = 'm-1'
              UNION ALL
              SELECT {h.handler_key}, 'pending', m.received_at, d.failures
              FROM {message m}
              JOIN {delivery d} ON d.lane = m.lane AND d.seq = m.seq
              JOIN {handler h} ON h.key_id = d.key_id
              WHERE m.source = 'orders' AND m.id = 'm-1'
              """),
          new Question(
              "The failures of a message",
              "The newest ten of each handler, with the stack.",
              """
              SELECT {h.handler_key}, f.number, f.failed_at, {f.error_code}, {f.error_text}, {f.stack}
              FROM {message m}
              JOIN {failure f} ON f.seq = m.seq
              JOIN {handler h} ON h.key_id = f.handler
              WHERE m.source = 'orders' AND m.id = 'm-1'
              ORDER BY f.handler, f.number DESC
              """),
          new Question(
              "Blocked keys",
              "Ordering keys that do not go on by themselves, and how many wait in each: behind a"
                  + " poisoned delivery, or, where `held` is yes, until the key is released.",
              """
              SELECT {h.handler_key}, {m.ordering_key}, {m.source}, {m.id},
                     CASE WHEN c.handler IS NULL THEN 'no' ELSE 'yes' END AS held,
                     CASE WHEN c.since < p.poisoned_at THEN c.since ELSE p.poisoned_at END AS since,
                     (SELECT count(*)
                      FROM {later l}
                      WHERE l.handler = p.handler AND l.key_hash = p.key_hash
                        AND l.due_at IS NULL) AS waiting
              FROM {poison p}
              JOIN {handler h} ON h.key_id = p.key_id
              JOIN {message m} ON m.seq = p.seq
              LEFT JOIN {closed_key c} ON c.handler = p.handler AND c.key_hash = p.key_hash
              WHERE p.blocks = TRUE AND p.key_hash IS NOT NULL
                AND NOT EXISTS (SELECT 1
                                FROM {poison q}
                                WHERE q.handler = p.handler AND q.key_hash = p.key_hash
                                  AND q.blocks = TRUE AND q.seq < p.seq)
              UNION ALL
              SELECT {h.handler_key}, {c.ordering_key}, {m.source}, {m.id}, 'yes', c.since,
                     (SELECT count(*)
                      FROM {later l}
                      WHERE l.handler = c.handler AND l.key_hash = c.key_hash
                        AND l.due_at IS NULL)
              FROM {closed_key c}
              JOIN {handler h} ON h.key_id = c.key_id
              LEFT JOIN {poison p} ON p.seq = c.seq AND p.handler = c.handler
              LEFT JOIN {message m} ON m.seq = p.seq
              WHERE NOT EXISTS (SELECT 1
                                FROM {poison q}
                                WHERE q.handler = c.handler AND q.key_hash = c.key_hash
                                  AND q.blocks = TRUE)
              ORDER BY since
              LIMIT 100
              """),
          new Question(
              "Who works on what",
              "Nodes that have not ended, and the cells that they own. A `beat` that grows is a sign"
                  + " of life.",
              """
              SELECT {n.name}, {n.state}, n.beat, n.joined_at, count(l.lane) AS cells
              FROM {node n}
              LEFT JOIN {lane l} ON l.owner = n.incarnation
              WHERE n.ended_at IS NULL
              GROUP BY n.name, n.state, n.beat, n.joined_at
              """),
          new Question(
              "Paused handlers",
              "By operators; a handler that has paused itself is told by events and the log alone.",
              """
              SELECT {h.handler_key}, p.since, {p.actor}, {p.reason}
              FROM {pause p}
              JOIN {handler h} ON h.key_id = p.key_id
              ORDER BY p.since
              """),
          new Question(
              "Handler keys",
              "Those whose `unknown_ms` grows have open work that no living node knows: a deployment"
                  + " is missing, or a former key was forgotten.",
              """
              SELECT {h.handler_key}, h.family, h.unknown_ms, h.unknown_seen
              FROM {handler h}
              ORDER BY h.unknown_ms DESC, h.key_id
              """),
          new Question(
              "Second copies with other content or another type",
              "They wait for `dismissConflict` or `acceptConflict`.",
              """
              SELECT c.conflict_id, {m.source}, {m.id}, c.received_at, {c.channel}, {c.content_type},
                     octet_length(c.content) AS bytes
              FROM {conflict c}
              JOIN {message m} ON m.seq = c.seq
              ORDER BY c.received_at DESC
              LIMIT 20
              """),
          new Question(
              "What operators did",
              "The newest first.",
              """
              SELECT a.done_at, {a.actor}, {a.action}, {a.subject}, {a.reason}
              FROM {audit a}
              ORDER BY a.audit_id DESC
              LIMIT 50
              """),
          new Question(
              "How far retention is",
              "The number up to which the present walk has come, when the last one ended, and the"
                  + " oldest message that is there.",
              """
              SELECT r.pruned_to, r.pruned_at,
                     (SELECT min(m.seq) FROM {message m}) AS oldest
              FROM {retention r}
              """),
          new Question(
              "Growth by day",
              "Reads the whole table of messages: ask seldom.",
              """
              SELECT CAST(m.received_at AS date) AS received_on, count(*) AS messages,
                     sum(octet_length(m.content)) AS bytes
              FROM {message m}
              GROUP BY CAST(m.received_at AS date)
              ORDER BY received_on
              """));

  private static final String PREFIX = "pigeonhole_";
  private static final Pattern TABLE = Pattern.compile("\\{(\\w+) (\\w+)}");
  private static final Pattern TEXT = Pattern.compile("\\{(\\w+)\\.(\\w+)}");

  private final DatabaseKind kind;

  /** Table → column → type, as the catalogue has it. */
  private final Map<String, Map<String, Integer>> schema = new HashMap<>();

  RunbookSql(TestDatabase migrated) {
    this.kind = migrated.kind();
    try (Connection connection = migrated.dataSource().getConnection()) {
      DatabaseMetaData meta = connection.getMetaData();
      try (ResultSet column =
          meta.getColumns(connection.getCatalog(), connection.getSchema(), PREFIX + "%", "%")) {
        while (column.next()) {
          schema
              .computeIfAbsent(
                  column.getString("TABLE_NAME").substring(PREFIX.length()),
                  table -> new LinkedHashMap<>())
              .put(
                  column.getString("COLUMN_NAME").toLowerCase(Locale.ROOT),
                  column.getInt("DATA_TYPE"));
        }
      }
    } catch (SQLException e) {
      throw new IllegalStateException(e);
    }
  }

  String of(Question question) {
    Map<String, String> tables = new HashMap<>();
    Matcher table = TABLE.matcher(question.template());
    while (table.find()) {
      if (!schema.containsKey(table.group(1))) {
        throw new AssertionError(question.title() + ": there is no table " + table.group(1));
      }
      tables.put(table.group(2), table.group(1));
    }
    String named =
        table.replaceAll(
            found -> Matcher.quoteReplacement(name(found.group(1)) + " " + found.group(2)));
    return TEXT.matcher(named.replace("{now}", now()))
        .replaceAll(
            found ->
                Matcher.quoteReplacement(
                    text(question, tables.get(found.group(1)), found.group(1), found.group(2))));
  }

  /** The time in the columns of MariaDB is UTC, whatever the session's zone is. */
  private String now() {
    return kind == DatabaseKind.MARIADB ? "UTC_TIMESTAMP(6)" : "CURRENT_TIMESTAMP";
  }

  /** H2 takes a bare name for an upper-case one. */
  private String name(String table) {
    return kind == DatabaseKind.H2 ? '"' + PREFIX + table + '"' : PREFIX + table;
  }

  private String text(Question question, String table, String alias, String column) {
    Integer type = table == null ? null : schema.get(table).get(column);
    if (type == null) {
      throw new AssertionError("%s: %s has no %s".formatted(question.title(), alias, column));
    }
    boolean bytes =
        List.of(Types.BINARY, Types.VARBINARY, Types.LONGVARBINARY, Types.BLOB).contains(type);
    String name = alias + "." + column;
    return bytes ? "CONVERT(%s USING utf8mb4) AS %s".formatted(name, column) : name;
  }

  /** The whole page. */
  static List<String> page(Map<DatabaseKind, RunbookSql> databases) {
    List<String> page = new ArrayList<>();
    page.add("# SQL for operators");
    page.add("");
    page.add(
        "Reading is always allowed; change nothing by hand, because what the library promises rests"
            + " on how rows move. Whatever changes something has a");
    page.add(
        "Java call in [Operations](operations.md). The names are the default ones, with the prefix"
            + " `pigeonhole_`.");
    page.add("");
    page.add(
        "*This page is made from the schema by the tests of the module `examples`, and every"
            + " statement on it is run on its database.*");
    for (Question question : ALL) {
      page.add("");
      page.add("## " + question.title());
      page.add("");
      page.add(question.about());
      databases.forEach(
          (kind, sql) -> {
            page.add("");
            page.add("On " + title(kind) + ":");
            page.add("");
            page.add("```sql");
            page.addAll(sql.of(question).strip().lines().toList());
            page.add("```");
          });
    }
    return page;
  }

  private static String title(DatabaseKind kind) {
    return switch (kind) {
      case POSTGRES -> "PostgreSQL";
      case MARIADB -> "MariaDB";
      case H2 -> "H2";
    };
  }
}
