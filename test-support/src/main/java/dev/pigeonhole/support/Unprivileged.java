package dev.pigeonhole.support;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** PostgreSQL refuses to run as root; these are the ways to run it all the same. */
enum Unprivileged {
  /** We are not root. */
  SAME_USER(""),

  /**
   * In a user namespace without a mapping, root is nobody inside, yet still owns its files. Nothing
   * has to change hands, but the container may forbid new namespaces.
   */
  USER_NAMESPACE("unshare -U"),

  /** Really somebody else, who must own the data directory. */
  NOBODY("setpriv --reuid=65534 --regid=65534 --clear-groups");

  private final String prefix;

  Unprivileged(String prefix) {
    this.prefix = prefix;
  }

  static Unprivileged here() {
    if (!System.getProperty("user.name").equals("root")) {
      return SAME_USER;
    }
    return succeeds(USER_NAMESPACE.command("true")) ? USER_NAMESPACE : NOBODY;
  }

  List<String> command(String... command) {
    List<String> whole = new ArrayList<>();
    if (!prefix.isEmpty()) {
      whole.addAll(List.of(prefix.split(" ")));
    }
    whole.addAll(List.of(command));
    return whole;
  }

  /** Makes the directory usable for the processes started by {@link #command}. */
  void own(Path directory) {
    if (this == NOBODY && !succeeds(List.of("chown", "-R", "65534:65534", directory.toString()))) {
      throw new IllegalStateException("Cannot give " + directory + " to nobody");
    }
  }

  private static boolean succeeds(List<String> command) {
    try {
      return new ProcessBuilder(command)
              .redirectErrorStream(true)
              .redirectOutput(ProcessBuilder.Redirect.DISCARD)
              .start()
              .waitFor()
          == 0;
    } catch (IOException e) {
      return false;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    }
  }
}
