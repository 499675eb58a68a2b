package dev.pigeonhole.internal.dispatch;

import java.sql.SQLException;
import java.util.ArrayDeque;
import java.util.Collections;
import java.util.Deque;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * PostgreSQL adds details to an error, such as the rejected row with all its values, and the driver
 * appends them to the message as further lines. Frameworks repeat this message in their own.
 */
final class ServerDetail {
  private static final int MOST = 100;
  private static final int BEGINNING = 100;

  private ServerDetail() {}

  /** The text without the further lines of SQL errors that the exception has come from. */
  static String removed(String text, Throwable thrown) {
    Set<Throwable> known = Collections.newSetFromMap(new IdentityHashMap<>());
    Deque<Throwable> open = new ArrayDeque<>(List.of(thrown));
    String bare = text;
    while (!open.isEmpty() && known.size() < MOST) {
      Throwable next = open.remove();
      if (known.add(next)) {
        if (next instanceof SQLException e) {
          String detail = furtherLines(e.getMessage());
          bare = detail.isBlank() ? bare : without(detail, bare);
          add(e.getNextException(), open);
        }
        add(next.getCause(), open);
        open.addAll(List.of(next.getSuppressed()));
      }
    }
    return bare;
  }

  /**
   * If the text was cut in the middle of the detail, everything from its beginning on is removed.
   */
  private static String without(String detail, String text) {
    String rest = text.replace(detail, "");
    int cut = rest.indexOf(detail.substring(0, Math.min(detail.length(), BEGINNING)));
    return cut < 0 || rest.length() < text.length() ? rest : rest.substring(0, cut);
  }

  private static void add(@Nullable Throwable thrown, Deque<Throwable> open) {
    if (thrown != null) {
      open.add(thrown);
    }
  }

  private static String furtherLines(@Nullable String message) {
    int end = message == null ? -1 : message.indexOf('\n');
    return message == null || end < 0 ? "" : message.substring(end);
  }
}
