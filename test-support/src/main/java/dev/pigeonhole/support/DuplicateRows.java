package dev.pigeonhole.support;

import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The closing check of every stress run and proof: for one message and one handler, at most one row
 * stands in the tables for open, poisoned and completed work, whatever number the handler has under
 * its former keys. It reads the tables past the library.
 */
public final class DuplicateRows {
  private static final String DEFAULT_PREFIX = "pigeonhole_";
  private static final List<String> PLACES = List.of("delivery", "later", "poison", "receipt");
  private static final int SHOWN = 20;

  private DuplicateRows() {}

  /** The rows that stand beside another one, in words; empty if all is well. */
  public static List<String> in(TestDatabase database) {
    return in(database, DEFAULT_PREFIX);
  }

  /** The same for tables with this prefix. */
  public static List<String> in(TestDatabase database, String prefix) {
    Names names = new Names(database.kind(), prefix);
    String rows =
        PLACES.stream()
            .map(place -> names.fill("SELECT '%s' AS place, seq, handler FROM <%s>", place, place))
            .collect(Collectors.joining(" UNION ALL ", "(", ")"));
    String several =
        names.fill(
            "SELECT p.seq, h.kin FROM "
                + rows
                + " p JOIN <handler> h ON h.key_id = p.handler"
                + " GROUP BY p.seq, h.kin HAVING COUNT(*) > 1 ORDER BY 1 LIMIT "
                + SHOWN);
    return database.rows(several).stream()
        .map(row -> describe(database, names, rows, number(row, "seq"), number(row, "kin")))
        .toList();
  }

  private static String describe(
      TestDatabase database, Names names, String rows, long seq, long kin) {
    String places =
        database
            .rows(
                names.fill(
                    "SELECT p.place, h.handler_key FROM "
                        + rows
                        + " p JOIN <handler> h ON h.key_id = p.handler"
                        + " WHERE p.seq = ? AND h.kin = ?"),
                seq,
                kin)
            .stream()
            .map(row -> text(row.get("handler_key")) + " in " + text(row.get("place")))
            .sorted()
            .collect(Collectors.joining(", "));
    String message =
        Stream.concat(
                database
                    .rows(names.fill("SELECT source, id FROM <message> WHERE seq = ?"), seq)
                    .stream()
                    .map(row -> text(row.get("source")) + "/" + text(row.get("id"))),
                Stream.of("#" + seq))
            .findFirst()
            .orElseThrow();
    return message + ": " + places;
  }

  private static long number(Map<String, @Nullable Object> row, String column) {
    return row.get(column) instanceof Number number ? number.longValue() : -1;
  }

  /** On MariaDB names are bytes. */
  private static String text(@Nullable Object value) {
    return value instanceof byte[] bytes
        ? new String(bytes, StandardCharsets.UTF_8)
        : String.valueOf(value);
  }

  private record Names(DatabaseKind kind, String prefix) {

    /** The statement with each table in angle brackets by its name. */
    String fill(String template, Object... args) {
      String quote = kind == DatabaseKind.MARIADB ? "`" : "\"";
      return template.formatted(args).replaceAll("<(\\w+)>", quote + prefix + "$1" + quote);
    }
  }
}
