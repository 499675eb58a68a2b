package dev.pigeonhole.support;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.concurrent.ThreadLocalRandom;

/** Finds ports for servers that cannot pick one themselves. */
public final class Ports {

  // Below the range from which Linux takes the source ports of outgoing connections. A client that
  // keeps dialling the port of a crashed server could otherwise be given that very port as its own
  // source, connect to itself, and so keep the server from coming back.
  private static final int FIRST = 15_000;
  private static final int END = 30_000;
  private static final int TRIES = 1_000;

  private Ports() {}

  /**
   * A loopback port that was free a moment ago. Somebody else may take it before the caller does,
   * so whoever starts a server on it has to be ready to ask again.
   */
  public static int free() {
    for (int i = 0; i < TRIES; i++) {
      int port = ThreadLocalRandom.current().nextInt(FIRST, END);
      if (isFree(port)) {
        return port;
      }
    }
    throw new IllegalStateException("No free port between " + FIRST + " and " + END);
  }

  private static boolean isFree(int port) {
    try (ServerSocket socket = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
      return socket.isBound();
    } catch (IOException e) {
      return false;
    }
  }
}
