package dev.pigeonhole.support;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;

/** The signals that {@link ProcessHandle} cannot send, and the two that it can. */
enum Signal {
  INT,
  QUIT,
  TERM,
  KILL,
  STOP,
  CONT;

  void send(long pid) {
    send(List.of(pid));
  }

  /** A process that is already gone is no error: that is what most callers hope for. */
  void send(Collection<Long> pids) {
    if (pids.isEmpty()) {
      return;
    }
    // The shell's own kill: small images have no kill program.
    List<String> command =
        new ArrayList<>(List.of("sh", "-c", "kill -s \"$0\" \"$@\" 2>/dev/null", name()));
    pids.forEach(pid -> command.add(Long.toString(pid)));
    try {
      new ProcessBuilder(command).start().waitFor();
    } catch (IOException e) {
      throw new UncheckedIOException("Cannot send SIG" + this, e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("Interrupted while sending SIG" + this, e);
    }
  }
}
