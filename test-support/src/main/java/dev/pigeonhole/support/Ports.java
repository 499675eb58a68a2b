package dev.pigeonhole.support;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Queue;
import java.util.stream.IntStream;

/**
 * Finds ports for servers that cannot pick one themselves. There is a moment between the look at a
 * port and the start of the server, so no two JVMs look at the same ports: each owns blocks of
 * them, by holding the first port of a block until it ends.
 */
public final class Ports {

  // Below the range from which Linux takes the source ports of outgoing connections. A client that
  // keeps dialling the port of a crashed server could otherwise be given that very port as its own
  // source, connect to itself, and so keep the server from coming back.
  private static final int FIRST = 15_000;
  private static final int END = 30_000;
  private static final int BLOCK = 100;

  /** What makes the blocks ours. Guarded by the class, as the others are. */
  private static final List<ServerSocket> OWNED = new ArrayList<>();

  private static final Queue<Integer> FRESH = new ArrayDeque<>();

  /** Those that were returned before, the oldest first. */
  private static final Queue<Integer> USED = new ArrayDeque<>();

  private Ports() {}

  /**
   * A loopback port that was free a moment ago, and another one at each call as long as there are
   * any. A program that does not ask here may take it before the caller does, so a caller that
   * starts a server on it has to be ready to ask again.
   */
  public static synchronized int free() {
    while (!FRESH.isEmpty() || ownAnotherBlock()) {
      int port = FRESH.remove();
      USED.add(port);
      if (isFree(port)) {
        return port;
      }
    }
    for (int i = 0; i < USED.size(); i++) {
      int port = USED.remove();
      USED.add(port);
      if (isFree(port)) {
        return port;
      }
    }
    throw new IllegalStateException("No free port between " + FIRST + " and " + END);
  }

  /** At random, so that JVMs that start together do not all begin with the same one. */
  private static boolean ownAnotherBlock() {
    List<Integer> starts =
        new ArrayList<>(
            IntStream.iterate(FIRST, at -> at < END, at -> at + BLOCK).boxed().toList());
    Collections.shuffle(starts);
    for (int start : starts) {
      try {
        OWNED.add(listen(start));
      } catch (IOException e) {
        continue; // its owner may be this JVM
      }
      IntStream.range(start + 1, start + BLOCK).forEach(FRESH::add);
      return true;
    }
    return false;
  }

  private static boolean isFree(int port) {
    try (ServerSocket socket = listen(port)) {
      return socket.isBound();
    } catch (IOException e) {
      return false;
    }
  }

  private static ServerSocket listen(int port) throws IOException {
    return new ServerSocket(port, 1, InetAddress.getLoopbackAddress());
  }
}
