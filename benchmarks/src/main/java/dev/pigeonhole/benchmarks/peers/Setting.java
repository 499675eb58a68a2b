package dev.pigeonhole.benchmarks.peers;

/** A value that a tuning pass may change from outside: {@code -Dpeer.threads=16}. */
public final class Setting {

  private Setting() {}

  public static int number(String name, int otherwise) {
    return Integer.getInteger("peer." + name, otherwise);
  }

  public static boolean yes(String name, boolean otherwise) {
    return Boolean.parseBoolean(System.getProperty("peer." + name, Boolean.toString(otherwise)));
  }
}
