package dev.pigeonhole.support;

import java.nio.charset.StandardCharsets;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The closing check of every test on a database: for one message and one handler, at most one row
 * stands in the tables for open, poisoned and completed work, whatever number the handler has under
 * its former keys. It reads the tables past the library. A receipt that a procedure has committed
 * before its run had ended is no completed work, and does not count.
 */
public final class DuplicateRows {
  private static final String DEFAULT_PREFIX = "pigeonhole_";
  private static final String HANDLER = "handler";
  private static final List<String> PLACES = List.of("delivery", "later", "poison", "receipt");
  private static final int SHOWN = 20;
  private static final int RUNNING = 2; // the outcome of a receipt whose run has not ended

  /** Asks the database for rows. */
  @FunctionalInterface
  interface Query {
    List<Map<String, @Nullable Object>> rows(String sql, @Nullable Object... args)
        throws SQLException;
  }

  private DuplicateRows() {}

  /** The rows that stand beside another one, in words; empty if all is well. */
  public static List<String> in(TestDatabase database) {
    return in(database, DEFAULT_PREFIX);
  }

  /**
   * The same for every inbox, guard and outbox that has its tables in this database, but only for
   * handlers with one number: two handlers that have become one may have a row each of a message
   * that both got before.
   */
  public static List<String> ofHandlerNumbers(TestDatabase database) {
    return asked(() -> ofHandlerNumbers(database.kind(), database::rows));
  }

  static List<String> ofHandlerNumbers(DatabaseKind kind, Query query) throws SQLException {
    List<String> duplicates = new ArrayList<>();
    for (String prefix : prefixes(kind, query)) {
      duplicates.addAll(in(kind, query, prefix, "key_id"));
    }
    return duplicates;
  }

  private static List<String> prefixes(DatabaseKind kind, Query query) throws SQLException {
    String here = kind == DatabaseKind.MARIADB ? "DATABASE()" : "CURRENT_SCHEMA";
    List<String> names =
        query
            .rows("SELECT table_name FROM information_schema.tables WHERE table_schema = " + here)
            .stream()
            .map(row -> text(row.get("table_name")))
            .toList();
    return names.stream()
        .filter(name -> name.endsWith(HANDLER))
        .map(name -> name.substring(0, name.length() - HANDLER.length()))
        .filter(prefix -> PLACES.stream().allMatch(place -> names.contains(prefix + place)))
        .toList();
  }

  /** The same for tables with this prefix. */
  public static List<String> in(TestDatabase database, String prefix) {
    return asked(() -> in(database.kind(), database::rows, prefix, "kin"));
  }

  private static List<String> asked(Callable<List<String>> question) {
    try {
      return question.call();
    } catch (RuntimeException e) {
      throw e;
    } catch (Exception e) {
      throw new IllegalStateException("Cannot look for duplicate rows", e);
    }
  }

  /**
   * @param one the column of the handlers that is the same for those that count as one
   */
  private static List<String> in(DatabaseKind kind, Query query, String prefix, String one)
      throws SQLException {
    Names names = new Names(kind, prefix);
    String rows =
        PLACES.stream()
            .map(
                place ->
                    names.fill("SELECT '%s' AS place, seq, handler FROM <%s>", place, place)
                        + (place.equals("receipt") ? " WHERE outcome <> " + RUNNING : ""))
            .collect(Collectors.joining(" UNION ALL ", "(", ")"));
    String several =
        names.fill(
            "SELECT p.seq, h."
                + one
                + " AS one FROM "
                + rows
                + " p JOIN <handler> h ON h.key_id = p.handler"
                + " GROUP BY p.seq, h."
                + one
                + " HAVING COUNT(*) > 1 ORDER BY 1 LIMIT "
                + SHOWN);
    List<String> duplicates = new ArrayList<>();
    for (Map<String, @Nullable Object> row : query.rows(several)) {
      duplicates.add(describe(query, names, rows, number(row, "seq"), one, number(row, "one")));
    }
    return duplicates;
  }

  private static String describe(
      Query query, Names names, String rows, long seq, String one, long handler)
      throws SQLException {
    String places =
        query
            .rows(
                names.fill(
                    "SELECT p.place, h.handler_key FROM "
                        + rows
                        + " p JOIN <handler> h ON h.key_id = p.handler"
                        + " WHERE p.seq = ? AND h."
                        + one
                        + " = ?"),
                seq,
                handler)
            .stream()
            .map(row -> text(row.get("handler_key")) + " in " + text(row.get("place")))
            .sorted()
            .collect(Collectors.joining(", "));
    String message =
        Stream.concat(
                query
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
