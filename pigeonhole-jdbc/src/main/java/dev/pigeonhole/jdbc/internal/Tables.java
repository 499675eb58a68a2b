package dev.pigeonhole.jdbc.internal;

import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.ConfigurationException.Problem;
import dev.pigeonhole.ErrorCode;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The names of one inbox's tables. Schema and prefix are the only text from outside that ever
 * becomes part of a statement, so they are checked here and always quoted. So is the name of the
 * connection's own schema, which the library did not choose: it may have blanks and letters of
 * every language, but nothing that means something in a text in quotes, a pattern or a template.
 */
public final class Tables {

  /** Every table, in the order of the schema scripts. */
  public static final List<String> ALL =
      List.of(
          "inbox",
          "store",
          "retention",
          "message",
          "delivery",
          "later",
          "receipt",
          "answer",
          "poison",
          "closed_key",
          "failure",
          "handler",
          "node",
          "lane",
          "pause",
          "conflict",
          "audit",
          "unhandled",
          "edit",
          "operation",
          "schema_history");

  public static final String DEFAULT_PREFIX = "pigeonhole_";

  public static final List<String> SEQUENCES = List.of("message_seq", "node_seq");

  private static final Pattern PLAIN = Pattern.compile("[A-Za-z_][A-Za-z0-9_]*");
  private static final Pattern HARMLESS = Pattern.compile("[\\p{L}\\p{M}\\p{N}_$#@.+~ -]+");
  private static final Pattern PLACEHOLDER = Pattern.compile("\\{(prefix|name)}(\\w+)|\\{(\\w+)}");
  private static final int LONGEST_NAME = 63;
  private static final int LONGEST_SUFFIX = 22;
  private static final int LONGEST_PREFIX = LONGEST_NAME - LONGEST_SUFFIX;

  private final char quote;
  private final @Nullable String schema;
  private final String prefix;
  private final Map<String, String> resolved = new ConcurrentHashMap<>();

  public Tables(char quote, @Nullable String schema, String prefix) {
    this.quote = quote;
    this.schema = schema;
    this.prefix = prefix;
  }

  /**
   * The tables with this prefix, in this schema or else in that of the connection.
   *
   * @throws ConfigurationException if the connection's schema could be more than a name
   */
  static Tables on(Connection connection, Dialect dialect, @Nullable String schema, String prefix)
      throws SQLException {
    String where = schema == null ? dialect.currentSchema(connection) : schema;
    if (where != null && !HARMLESS.matcher(where).matches()) {
      throw new ConfigurationException(
          ErrorCode.IDENTIFIER_INVALID,
          ("The connection is in the schema '%s', whose name has a character that is not"
                  + " allowed in statements of the inbox. Choose a schema with a plain name with"
                  + " .schema(…), or let the connection start in one.")
              .formatted(where));
    }
    return new Tables(dialect.quote(), where, prefix);
  }

  /** Refuses a schema or prefix that could be more, or less, than a name. */
  public static void check(@Nullable String schema, String prefix) {
    List<Problem> problems = new ArrayList<>();
    checkName("prefix", prefix, LONGEST_PREFIX, problems);
    if (schema != null) {
      checkName("schema", schema, LONGEST_NAME, problems);
    }
    if (!problems.isEmpty()) {
      throw new ConfigurationException(problems);
    }
  }

  private static void checkName(String what, String value, int longest, List<Problem> problems) {
    if (!PLAIN.matcher(value).matches()) {
      problems.add(
          new Problem(
              ErrorCode.IDENTIFIER_INVALID,
              ("The %s '%s' is not a plain name. Use letters, digits and underscores, and start"
                      + " with a letter or an underscore.")
                  .formatted(what, value)));
    } else if (value.length() > longest) {
      problems.add(
          new Problem(
              ErrorCode.IDENTIFIER_TOO_LONG,
              ("The %s '%s' has %d characters, at most %d are possible: databases cut longer"
                      + " table names silently.")
                  .formatted(what, value, value.length(), longest)));
    }
  }

  /**
   * Replaces {@code {message}}, and in schema scripts {@code {prefix}message}, by real names.
   * Answers are kept, so a template must be a constant; text that is built per call is put together
   * from resolved parts.
   */
  public String sql(String template) {
    if (template.indexOf('{') < 0) {
      return template;
    }
    return resolved.computeIfAbsent(template, this::resolve);
  }

  /** How many templates are kept. */
  int kept() {
    return resolved.size();
  }

  private String resolve(String template) {
    Matcher placeholder = PLACEHOLDER.matcher(template);
    return placeholder.replaceAll(
        found -> {
          if (found.group(3) != null) {
            String name = found.group(3);
            return Matcher.quoteReplacement(
                ALL.contains(name) || SEQUENCES.contains(name) ? qualified(name) : found.group());
          }
          return Matcher.quoteReplacement(
              found.group(1).equals("prefix") ? qualified(found.group(2)) : bare(found.group(2)));
        });
  }

  /** The quoted name with its schema. */
  public String qualified(String name) {
    return schema == null ? bare(name) : quote + schema + quote + '.' + bare(name);
  }

  private String bare(String name) {
    return quote + prefix + name + quote;
  }

  /** The name as catalogues show it. */
  public String plain(String name) {
    return prefix + name;
  }

  /**
   * The {@code Schema} that makes exactly these tables, as Java: for texts that name the way out.
   * The default one would make others beside them. A schema that {@link #check} would refuse can
   * only be the one that connections stand in, and need not be named.
   */
  String inJava() {
    boolean plain = schema != null && PLAIN.matcher(schema).matches();
    String where = plain ? ".schema(\"%s\")".formatted(schema) : "";
    String named = prefix.equals(DEFAULT_PREFIX) ? "" : ".prefix(\"%s\")".formatted(prefix);
    return "Schema.ofDefaults()" + where + named;
  }

  /** The schema that holds the tables, if known. */
  public @Nullable String schema() {
    return schema;
  }
}
