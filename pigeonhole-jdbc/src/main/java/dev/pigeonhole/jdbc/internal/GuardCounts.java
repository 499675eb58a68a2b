package dev.pigeonhole.jdbc.internal;

/** What a delivery had behind it when a guard took it over. */
record GuardCounts(int failures, int crashes, int releases) {
  static final GuardCounts NONE = new GuardCounts(0, 0, 0);
}
