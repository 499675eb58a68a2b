package dev.pigeonhole.jdbc.internal;

import java.sql.SQLException;
import java.sql.SQLNonTransientConnectionException;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * What an error of the server says, without the values that it was about. PostgreSQL shows the
 * whole row in the detail of an error, H2 the value, and MariaDB a part of it; all of that may be
 * content.
 */
final class ServerWords {
  /**
   * The detail of PostgreSQL, and the statement that a driver adds, stand on lines of their own.
   */
  private static final Pattern FURTHER_LINES = Pattern.compile("\\R.*", Pattern.DOTALL);

  /** H2 adds its statement to the first line. */
  private static final Pattern STATEMENT = Pattern.compile("; SQL statement:.*", Pattern.DOTALL);

  /** As in {@code invalid input syntax for type integer: "x"}; names are not behind a colon. */
  private static final Pattern VALUE =
      Pattern.compile("(: |converting |entry )[\"'].*", Pattern.DOTALL);

  private ServerWords() {}

  static String of(SQLException e) {
    String whole = String.valueOf(e.getMessage());
    String words = STATEMENT.matcher(whole).replaceFirst("");
    if (refusesValues(e)) {
      words = VALUE.matcher(words).replaceFirst("$1…");
    }
    return FURTHER_LINES.matcher(words).replaceFirst("");
  }

  /** The same error, or one that says no more than {@link #of} and is taken for the same fault. */
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
    return only;
  }

  /** Whether the error is about data or a constraint, and so about values. */
  private static boolean refusesValues(SQLException e) {
    @Nullable String state = e.getSQLState();
    return state != null && (state.startsWith("22") || state.startsWith("23"));
  }
}
