package dev.pigeonhole;

/** Whether every channel of an application must have an inbox. */
public enum Requirement {
  /** No check. The default. */
  NONE,
  /** A channel without inbox is named in a warning at start. */
  WARN,
  /** A channel without inbox refuses to start, unless it says {@code withoutInbox()}. */
  FAIL
}
