package dev.pigeonhole.support;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;

/** Finds ports for servers that cannot pick one themselves. */
public final class Ports {

  private Ports() {}

  /**
   * A loopback port that was free a moment ago. Somebody else may take it before the caller does,
   * so whoever starts a server on it has to be ready to ask again.
   */
  public static int free() {
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return socket.getLocalPort();
    } catch (IOException e) {
      throw new UncheckedIOException("No free port on the loopback interface", e);
    }
  }
}
