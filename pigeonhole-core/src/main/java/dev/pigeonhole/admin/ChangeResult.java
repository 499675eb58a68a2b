package dev.pigeonhole.admin;

import java.util.Map;

/**
 * What came of a change to many.
 *
 * @param operation the name under which it can be run again
 * @param matched how many were looked at
 * @param changed how many were changed
 * @param skipped why others were not → how many
 * @param finished whether all that was chosen has been looked at
 */
public record ChangeResult(
    String operation, long matched, long changed, Map<String, Long> skipped, boolean finished) {

  public ChangeResult {
    skipped = Map.copyOf(skipped);
  }
}
