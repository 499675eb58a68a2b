package dev.pigeonhole.jdbc.internal;

import dev.pigeonhole.jdbc.internal.TableShape.Column;
import dev.pigeonhole.jdbc.internal.TableShape.Key;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The tables that the scripts of a dialect make, read from their text: so nothing has to be written
 * down twice.
 */
final class Blueprint {

  private static final Pattern TABLE =
      Pattern.compile("CREATE TABLE IF NOT EXISTS \\{prefix}(\\w+) \\((.*)");
  private static final Pattern CONSTRAINT =
      Pattern.compile("(?:CONSTRAINT \\{name}(\\w+) )?(?:PRIMARY KEY|UNIQUE) \\(([^)]*)\\)");
  private static final Pattern COLUMN =
      Pattern.compile(
          "(?<name>[a-z]\\w*) (?<type>[a-z]+(?: ?\\(\\d+\\))?(?: with time zone)?)"
              + "(?: CHARACTER SET \\w+)?(?: COLLATE \"?(?<collation>\\w+)\"?)?(?<must> NOT NULL)?"
              + "(?: DEFAULT (?<initial>'[^']*'|\\S+))?"
              + "(?<filled> GENERATED ALWAYS AS IDENTITY| AUTO_INCREMENT)?");
  private static final Pattern INDEX =
      Pattern.compile(
          "CREATE (UNIQUE )?INDEX IF NOT EXISTS \\{name}(\\w+) ON \\{prefix}(\\w+) \\(([^)]*)\\)"
              + "(?: WHERE (.+))?");

  private static final Pattern SEQUENCE =
      Pattern.compile("CREATE SEQUENCE IF NOT EXISTS \\{prefix}(\\w+) .*INCREMENT BY (\\d+).*");

  private final Dialect dialect;
  private final Map<String, TableShape> tables = new LinkedHashMap<>();

  private Blueprint(Dialect dialect) {
    this.dialect = dialect;
  }

  /** The tables by their names without prefix, in the order of the scripts. */
  static Map<String, TableShape> of(Dialect dialect) {
    Blueprint blueprint = new Blueprint(dialect);
    Migrations.statements(dialect).forEach(blueprint::read);
    return blueprint.tables;
  }

  /** By how much each sequence steps, by their names without prefix. */
  static Map<String, Long> sequences(Dialect dialect) {
    Map<String, Long> steps = new LinkedHashMap<>();
    for (String statement : Migrations.statements(dialect)) {
      Matcher sequence = SEQUENCE.matcher(onOneLine(statement));
      if (sequence.matches()) {
        steps.put(sequence.group(1), Long.valueOf(sequence.group(2)));
      }
    }
    return steps;
  }

  private static String onOneLine(String statement) {
    return statement.replaceAll("\\s+", " ").strip();
  }

  private void read(String statement) {
    String line = onOneLine(statement);
    Matcher table = TABLE.matcher(line);
    Matcher index = INDEX.matcher(line);
    if (table.matches()) {
      TableShape shape = TableShape.empty(table.group(1));
      items(table.group(2)).forEach(item -> read(item, shape));
      tables.put(shape.name(), shape);
    } else if (index.matches()) {
      TableShape shape = tables.get(index.group(3));
      if (shape == null) {
        throw new IllegalStateException("An index without its table: " + line);
      }
      shape
          .keys()
          .add(
              new Key(
                  index.group(2),
                  index.group(1) != null,
                  names(index.group(4)),
                  condition(index.group(5))));
    }
  }

  private void read(String item, TableShape table) {
    Matcher constraint = CONSTRAINT.matcher(item);
    Matcher column = COLUMN.matcher(item);
    if (constraint.matches()) {
      String name = constraint.group(1) == null ? "" : constraint.group(1);
      table.keys().add(new Key(name, true, names(constraint.group(2)), null));
    } else if (column.matches()) {
      String name = column.group("name");
      table
          .columns()
          .put(
              name,
              new Column(
                  name,
                  item,
                  ColumnType.of(dialect, column.group("type")),
                  column.group("collation"),
                  column.group("must") == null,
                  initial(column.group("initial")),
                  column.group("filled") != null));
    } else {
      throw new IllegalStateException(
          "Start-up could not compare this part of table %s: %s".formatted(table.name(), item));
    }
  }

  /** What stands between the commas of the outermost parentheses, up to the one that closes. */
  private static List<String> items(String body) {
    List<String> items = new ArrayList<>();
    int depth = 0;
    int from = 0;
    for (int i = 0; i < body.length() && depth >= 0; i++) {
      char c = body.charAt(i);
      depth += c == '(' ? 1 : c == ')' ? -1 : 0;
      if (depth < 0 || (depth == 0 && c == ',')) {
        items.add(body.substring(from, i).strip());
        from = i + 1;
      }
    }
    return items;
  }

  private static List<String> names(String list) {
    List<String> names = new ArrayList<>();
    for (String name : list.split(",")) {
      names.add(name.strip().toLowerCase(Locale.ROOT).replaceAll(" asc$", ""));
    }
    return names;
  }

  /** A default as every database would spell it, if it spelt them alike. */
  static @Nullable String initial(@Nullable String expression) {
    if (expression == null) {
      return null;
    }
    String plain = expression.toLowerCase(Locale.ROOT).replaceAll("::[a-z ]+|[()']", "").strip();
    return switch (plain) {
      case "false" -> "0";
      case "true" -> "1";
      default -> plain;
    };
  }

  /** A condition of a partial index as it looks without parentheses. */
  static @Nullable String condition(@Nullable String expression) {
    return expression == null
        ? null
        : expression.toLowerCase(Locale.ROOT).replaceAll("[()\"]", "").strip();
  }
}
