package dev.pigeonhole.jdbc.internal;

import java.sql.SQLException;
import java.sql.SQLNonTransientConnectionException;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The text of a server error without the values in it. PostgreSQL shows the whole row in the detail
 * of an error, H2 the value, and MariaDB a part of it; all of that may be content.
 */
final class ServerWords {
  /**
   * The detail of PostgreSQL, and the statement that a driver adds, stand on lines of their own.
   */
  private static final Pattern FURTHER_LINES = Pattern.compile("\\R.*", Pattern.DOTALL);

  /** H2 adds its statement to the first line. */
  private static final Pattern STATEMENT = Pattern.compile("; SQL statement:.*", Pattern.DOTALL);

  /** Names in quotes follow one of these words; they may stay. */
  private static final String NAME =
      "(?<name>(?i:column|relation|table|constraint|domain|encoding|parameter|cannot parse)"
          + " (\"[^\"]*\"|'[^']*'))";

  /** In errors about data all other quotes are around values; dates and bytes have none. */
  private static final Pattern IN_DATA =
      Pattern.compile(NAME + "|[\"«»„“”‚‘’「『]|(?<!\\p{L})'|(?<=: )[-0-9]");

  /** PostgreSQL quotes names alone in errors about constraints. */
  private static final Pattern IN_CONSTRAINTS = Pattern.compile(NAME + "|(?<=: )\"|(?<!\\p{L})'");

  /**
   * Errors about data with another SQLState: wrong values of MariaDB (1411, 1525), and of H2 in
   * hexadecimal (90003, 90004), in dates (90014), in parameters and in texts (90008, 90095).
   */
  private static final Set<Integer> DATA = Set.of(1411, 1525, 90003, 90004, 90008, 90014, 90095);

  private ServerWords() {}

  static String of(SQLException e) {
    String whole = String.valueOf(e.getMessage());
    String words = STATEMENT.matcher(whole).replaceFirst("");
    Pattern values = values(e);
    if (values != null) {
      words = upToValue(words, values);
    }
    return FURTHER_LINES.matcher(words).replaceFirst("");
  }

  /** Where a value ends cannot be seen: it may have quotes in it. */
  private static String upToValue(String words, Pattern values) {
    Matcher matcher = values.matcher(words);
    while (matcher.find()) {
      if (matcher.group("name") == null) {
        return words.substring(0, matcher.start()) + "…";
      }
    }
    return words;
  }

  /**
   * Returns the same error, or one whose text is that of {@link #of} and which is recognized as the
   * same fault. A lack of memory remains its cause.
   */
  static SQLException only(SQLException e) {
    SQLException root = Errors.root(e);
    String words = of(root);
    if (words.equals(root.getMessage()) && e.getNextException() == null && root == e) {
      return e;
    }
    SQLException only =
        Errors.lostByType(e)
            ? new SQLNonTransientConnectionException(words, root.getSQLState(), root.getErrorCode())
            : new SQLException(words, root.getSQLState(), root.getErrorCode());
    only.setStackTrace(root.getStackTrace());
    OutOfMemoryError noMemory = outOfMemory(e);
    if (noMemory != null) {
      only.initCause(noMemory);
    }
    return only;
  }

  /** PostgreSQL's driver chains an error for each row that it had no memory for. */
  private static @Nullable OutOfMemoryError outOfMemory(SQLException e) {
    for (Throwable each : e) {
      if (each instanceof OutOfMemoryError error) {
        return error;
      }
    }
    return null;
  }

  /** Where values begin in an error that is about them. */
  private static @Nullable Pattern values(SQLException e) {
    String state = String.valueOf(e.getSQLState());
    if (state.startsWith("22") || DATA.contains(e.getErrorCode())) {
      return IN_DATA;
    }
    return state.startsWith("23") ? IN_CONSTRAINTS : null;
  }
}
