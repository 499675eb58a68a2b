package dev.pigeonhole.support;

import java.io.IOException;

/** Ends a child JVM together with the JVM that started it. */
public final class ParentWatch {

  private ParentWatch() {}

  /**
   * Halts this JVM when its standard input ends, which it does when the parent is gone, however
   * that died. For the mains of child processes; nothing else may read standard input then.
   */
  public static void install() {
    Thread watch = new Thread(ParentWatch::untilOrphaned, "parent-watch");
    watch.setDaemon(true);
    watch.start();
  }

  private static void untilOrphaned() {
    try {
      while (System.in.read() >= 0) {
        // The parent lives and says something that nobody needs.
      }
    } catch (IOException e) {
      // As good as the end.
    }
    // Not exit: shutdown hooks could hang, and nobody is left to wait for them.
    Runtime.getRuntime().halt(3);
  }
}
