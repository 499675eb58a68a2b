package dev.pigeonhole.admin;

import java.util.Collections;
import java.util.Map;
import java.util.TreeMap;

/**
 * How many deliveries still stand open under one exact handler key: zero before it may go.
 *
 * @param others what is open under the other keys of the same handler, its current and its former
 *     ones, by name
 */
public record DrainCheck(String handler, Count open, Map<String, Count> others) {

  public DrainCheck {
    others = Collections.unmodifiableMap(new TreeMap<>(others));
  }

  /** Whether a former key can be removed from the code. */
  public boolean drained() {
    return open.equals(Count.of(0));
  }
}
