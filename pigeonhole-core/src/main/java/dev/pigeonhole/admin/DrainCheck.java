package dev.pigeonhole.admin;

/** How many deliveries still stand open under one exact handler key: zero before it may go. */
public record DrainCheck(String handler, long open) {

  /** Whether a former key can be removed from the code. */
  public boolean drained() {
    return open == 0;
  }
}
