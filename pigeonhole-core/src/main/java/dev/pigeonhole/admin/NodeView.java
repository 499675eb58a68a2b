package dev.pigeonhole.admin;

import java.util.List;

/**
 * A node as the others see it, the dead and stopped of the last day included.
 *
 * @param incarnation its number; a node that starts again has another
 * @param name for people: host, process id
 * @param handlers the keys it can run
 * @param lanes how many lanes it owns, over all handlers
 */
public record NodeView(
    long incarnation, String name, State state, List<String> handlers, int lanes) {

  /** Only the first two are alive. */
  public enum State {
    LIVE,
    STOPPING,
    STOPPED,
    DEAD
  }
}
