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
 * PostgreSQL tells more of an error in further lines, and the driver makes them part of the
 * message: the row that was refused, with all its values. Frameworks repeat the message in their
 * own.
 */
final class ServerDetail {
  private static final int MOST = 100;

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
          bare = detail.isEmpty() ? bare : bare.replace(detail, "");
          add(e.getNextException(), open);
        }
        add(next.getCause(), open);
        open.addAll(List.of(next.getSuppressed()));
      }
    }
    return bare;
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
