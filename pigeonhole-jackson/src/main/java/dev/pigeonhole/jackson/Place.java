package dev.pigeonhole.jackson;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Where in a document something went wrong: line, column and the names of properties. Never a
 * value, and never the key of a map, which is content as well.
 */
final class Place {
  private static final int STEPS = 10;

  private final Deque<String> steps = new ArrayDeque<>();
  private String position = "";
  private boolean cut;

  void position(int line, int column) {
    if (line > 0 && column > 0) {
      position = " at line %d, column %d".formatted(line, column);
    }
  }

  /**
   * One step further inwards.
   *
   * @param from the object that holds the property, or its class
   * @param property null for an element of an array
   */
  void step(@Nullable Object from, @Nullable String property, int index) {
    if (property == null) {
      add(index < 0 ? "[?]" : "[" + index + "]");
    } else if (from instanceof Map
        || (from instanceof Class<?> type && Map.class.isAssignableFrom(type))) {
      add("{…}");
    } else {
      add("." + Shown.escaped(property));
    }
  }

  private void add(String step) {
    steps.add(step);
    if (steps.size() > STEPS) {
      steps.remove();
      cut = true;
    }
  }

  /** Follows a noun, such as {@code " at line 1, column 8, in $.items[2].price"}. */
  @Override
  public String toString() {
    if (steps.isEmpty()) {
      return position;
    }
    return position
        + (position.isEmpty() ? " in $" : ", in $")
        + (cut ? "…" : "")
        + String.join("", steps);
  }
}
