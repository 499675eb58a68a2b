package dev.pigeonhole.support;

import java.io.DataInputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Where the Erlang nodes of this JVM find each other. A node that finds no such directory starts
 * one as a daemon, which would outlive everybody, and the one of the machine belongs to others.
 */
final class Epmd extends LocalServer {

  private static final int ANSWER_LIMIT_MILLIS = 1_000;
  private static final byte[] NAMES_PLEASE = {0, 1, 'n'};

  private static @Nullable Epmd shared;

  private Epmd() {
    super("epmd", Signal.KILL);
  }

  /** The one directory of this JVM, started at the first call; it ends with the JVM. */
  static synchronized Epmd shared() {
    if (shared == null) {
      Epmd started = new Epmd();
      started.initialiseAndLaunch();
      started.keep();
      shared = started;
    }
    return shared;
  }

  @Override
  String title() {
    return "epmd";
  }

  @Override
  List<String> command() {
    return List.of("epmd", "-port", Integer.toString(port()), "-address", "127.0.0.1");
  }

  /** It begins every answer with its own port. */
  @Override
  boolean answers() {
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port())) {
      socket.setSoTimeout(ANSWER_LIMIT_MILLIS);
      socket.getOutputStream().write(NAMES_PLEASE);
      return new DataInputStream(socket.getInputStream()).readInt() == port();
    } catch (IOException e) {
      return false;
    }
  }
}
