package dev.pigeonhole.store;

import java.util.Set;

/**
 * A node as the store knows it.
 *
 * @param handlers the families it can run
 */
public record NodeRow(
    long incarnation, String name, State state, long beat, Set<Integer> handlers) {

  /** The states of an incarnation; only the first two are alive. */
  public enum State {
    LIVE,
    STOPPING,
    STOPPED,
    DEAD
  }

  /** Whether it may still be working. */
  public boolean alive() {
    return state == State.LIVE || state == State.STOPPING;
  }
}
