package dev.pigeonhole.benchmarks.peers;

/**
 * A value that a tuning pass may change from outside: {@code -Dpeer.threads=16}, for one peer at a
 * time. {@code JAVA_TOOL_OPTIONS} carries it through {@code ./bench}.
 */
public final class Setting {

  private Setting() {}

  public static int number(String name, int otherwise) {
    return Integer.getInteger("peer." + name, otherwise);
  }

  public static boolean yes(String name, boolean otherwise) {
    return Boolean.parseBoolean(System.getProperty("peer." + name, Boolean.toString(otherwise)));
  }
}
