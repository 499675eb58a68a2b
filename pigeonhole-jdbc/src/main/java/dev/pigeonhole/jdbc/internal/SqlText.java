package dev.pigeonhole.jdbc.internal;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Looks at the first words of each statement in a text, behind comments and white space, and tells
 * whether one of them would end the transaction, or may do so on some database.
 */
final class SqlText {

  private static final Set<String> ENDING =
      Set.of(
          "BEGIN",
          "START",
          "COMMIT",
          "END",
          "ROLLBACK",
          "ABORT",
          "SAVEPOINT",
          "RELEASE",
          "XA",
          "CREATE",
          "ALTER",
          "DROP",
          "TRUNCATE",
          "RENAME",
          "GRANT",
          "REVOKE",
          "COMMENT",
          "REINDEX",
          "VACUUM",
          "CLUSTER",
          "REFRESH",
          "OPTIMIZE",
          "REPAIR",
          "FLUSH",
          "RESET",
          "INSTALL",
          "UNINSTALL",
          "UNLOCK",
          "SHUTDOWN",
          "CHECKPOINT",
          "BACKUP",
          "SCRIPT",
          "RUNSCRIPT",
          "DISCARD",
          "SECURITY",
          "REASSIGN",
          "IMPORT",
          "AUTOCOMMIT",
          "ANALYZE");

  /** Statements of MariaDB alone that commit, or that hold others which may. */
  private static final Set<String> ENDING_ON_MARIADB =
      Set.of(
          "CACHE", "CASE", "CHANGE", "CHECK", "EXECUTE", "FOR", "IF", "KILL", "LOOP", "PREPARE",
          "REPEAT", "STOP", "WHILE");

  /** H2 commits before nearly every SET; these belong to the session. */
  private static final Set<String> KEEPING_ON_H2 =
      Set.of(
          "@",
          "CATALOG",
          "LOCK_TIMEOUT",
          "NON_KEYWORDS",
          "QUERY_TIMEOUT",
          "SCHEMA",
          "SCHEMA_SEARCH_PATH",
          "TIME");

  private static final int WORDS = 4;
  private static final int WORDS_OF_SET = 200;

  private final boolean h2;
  private final boolean mariaDb;
  private final boolean postgres;

  /** What is a comment, and what a string, depends on the database. */
  SqlText(Dialect dialect) {
    this.h2 = dialect.name().equals("h2");
    this.mariaDb = dialect.name().equals("mariadb");
    this.postgres = dialect.name().equals("postgresql");
  }

  /** Whether the text holds a statement that a unit must refuse. */
  boolean endsTransaction(String sql) {
    for (List<String> statement : statements(sql)) {
      if (refused(statement)) {
        return true;
      }
    }
    return false;
  }

  private boolean refused(List<String> words) {
    String first = words.get(0);
    String second = words.size() > 1 ? words.get(1) : "";
    if (mariaDb && ENDING_ON_MARIADB.contains(first)) {
      return true;
    }
    return switch (first) {
      case "LOCK" -> second.equals("TABLES") || (mariaDb && second.equals("TABLE"));
      case "LOAD" -> mariaDb && second.equals("INDEX");
      case "PREPARE" -> h2 || second.equals("TRANSACTION");
      case "EXECUTE" -> h2 || second.equals("IMMEDIATE");
      case "DEALLOCATE" -> h2;
      case "SET" -> refusedSet(words, second);
      case "ANALYZE" -> !Set.of("SELECT", "UPDATE", "DELETE", "INSERT", "FORMAT").contains(second);
      default -> ENDING.contains(first);
    };
  }

  private boolean refusedSet(List<String> words, String second) {
    if (mariaDb && second.equals("STATEMENT") && words.contains("FOR")) {
      List<String> behind = words.subList(words.indexOf("FOR") + 1, words.size());
      return !behind.isEmpty() && refused(behind);
    }
    return words.contains("AUTOCOMMIT")
        || words.contains("TRANSACTION")
        || words.contains("CHARACTERISTICS")
        || words.contains("WRITE_DELAY")
        || (mariaDb && words.contains("PASSWORD"))
        || (h2 && !KEEPING_ON_H2.contains(second));
  }

  /** The first words of each statement, in upper case; empty statements are left out. */
  private List<List<String>> statements(String sql) {
    List<List<String>> statements = new ArrayList<>();
    List<String> words = new ArrayList<>();
    int at = 0;
    while (at < sql.length()) {
      char c = sql.charAt(at);
      if (c == ';') {
        if (!words.isEmpty()) {
          statements.add(words);
          words = new ArrayList<>();
        }
        at++;
      } else if (lineComment(sql, at)) {
        at = endOfLine(sql, at);
      } else if (mariaDb && (sql.startsWith("/*!", at) || sql.startsWith("/*M!", at))) {
        // MariaDB runs what stands in such a comment.
        at = behindVersion(sql, sql.indexOf('!', at) + 1);
      } else if (sql.startsWith("*/", at)) {
        at += 2;
      } else if (sql.startsWith("/*", at)) {
        at = behindComment(sql, at);
      } else if (c == '\'' || c == '"' || c == '`') {
        at = behindQuote(sql, at, c);
      } else if (!mariaDb && c == '$' && dollarTag(sql, at) != null) {
        at = behindDollars(sql, at);
      } else if (h2 && c == '@' && words.size() == 1) {
        words.add("@");
        at++;
      } else if (Character.isLetter(c) || c == '_') {
        int end = at;
        while (end < sql.length() && isWordPart(sql.charAt(end))) {
          end++;
        }
        if (words.size() < most(words)) {
          words.add(sql.substring(at, end).toUpperCase(Locale.ROOT));
        }
        at = end;
      } else {
        at++;
      }
    }
    if (!words.isEmpty()) {
      statements.add(words);
    }
    return statements;
  }

  /** A SET can change many things, and the last of them may be what ends the transaction. */
  private static int most(List<String> words) {
    return !words.isEmpty() && words.get(0).equals("SET") ? WORDS_OF_SET : WORDS;
  }

  private boolean lineComment(String sql, int at) {
    if (mariaDb) {
      boolean dashes = sql.startsWith("--", at);
      boolean spaced = at + 2 >= sql.length() || sql.charAt(at + 2) <= ' ';
      return sql.charAt(at) == '#' || (dashes && spaced);
    }
    return sql.startsWith("--", at) || (h2 && sql.startsWith("//", at));
  }

  private static boolean isWordPart(char c) {
    return Character.isLetterOrDigit(c) || c == '_';
  }

  private static int endOfLine(String sql, int at) {
    int end = sql.indexOf('\n', at);
    return end < 0 ? sql.length() : end + 1;
  }

  private static int behindVersion(String sql, int at) {
    int end = at;
    while (end < sql.length() && Character.isDigit(sql.charAt(end))) {
      end++;
    }
    return end;
  }

  /** Comments nest, except on MariaDB. */
  private int behindComment(String sql, int at) {
    if (mariaDb) {
      int end = sql.indexOf("*/", at + 2);
      return end < 0 ? sql.length() : end + 2;
    }
    int depth = 0;
    int i = at;
    while (i < sql.length()) {
      if (sql.startsWith("/*", i)) {
        depth++;
        i += 2;
      } else if (sql.startsWith("*/", i)) {
        depth--;
        i += 2;
        if (depth == 0) {
          return i;
        }
      } else {
        i++;
      }
    }
    return i;
  }

  private int behindQuote(String sql, int at, char quote) {
    boolean escapes = quote != '`' && (mariaDb || (postgres && escapeString(sql, at)));
    int i = at + 1;
    while (i < sql.length()) {
      char c = sql.charAt(i);
      if (c == quote) {
        return i + 1;
      }
      i += escapes && c == '\\' ? 2 : 1;
    }
    return sql.length();
  }

  /** Whether an E stands before the quote, alone. */
  private static boolean escapeString(String sql, int at) {
    return at > 0
        && (sql.charAt(at - 1) == 'E' || sql.charAt(at - 1) == 'e')
        && (at == 1 || !isWordPart(sql.charAt(at - 2)));
  }

  private static @Nullable String dollarTag(String sql, int at) {
    int end = at + 1;
    while (end < sql.length() && isWordPart(sql.charAt(end))) {
      end++;
    }
    return end < sql.length() && sql.charAt(end) == '$' ? sql.substring(at, end + 1) : null;
  }

  private static int behindDollars(String sql, int at) {
    String tag = String.valueOf(dollarTag(sql, at));
    int end = sql.indexOf(tag, at + tag.length());
    return end < 0 ? sql.length() : end + tag.length();
  }
}
