package dev.pigeonhole.store;

import java.util.EnumMap;
import java.util.List;
import java.util.Map;

/**
 * A change to many, as far as it has come.
 *
 * @param name chosen by whoever asked for it
 * @param what the change and the choice, for comparing and for people
 * @param at the last of those that were looked at
 */
public record Operation(
    String name,
    String what,
    Place at,
    long matched,
    long changed,
    Map<AdminChange.Effect, Long> skipped,
    boolean finished) {

  /** Before its first step. */
  public static Operation begun(String name, String what) {
    return new Operation(name, what, Place.START, 0, 0, Map.of(), false);
  }

  /** After another step that came to these effects. */
  public Operation after(Place last, List<AdminChange.Effect> effects, boolean finished) {
    Map<AdminChange.Effect, Long> others = new EnumMap<>(AdminChange.Effect.class);
    others.putAll(skipped);
    long changes = 0;
    for (AdminChange.Effect each : effects) {
      if (each == AdminChange.Effect.CHANGED) {
        changes++;
      } else {
        others.merge(each, 1L, Long::sum);
      }
    }
    return new Operation(
        name, what, last, matched + effects.size(), changed + changes, others, finished);
  }
}
