package dev.pigeonhole.support;

import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A real Redis from Debian's package, on a port and with a directory of its own, that can be
 * crashed, paused and brought back. It writes every change to disk before it answers, as nobody
 * does in production, so that what a test finds missing was lost by somebody else.
 */
public final class RedisServer extends LocalServer {
  private static final int ANSWER_LIMIT_MILLIS = 1_000;

  private static @Nullable RedisServer shared;

  private final Path program;

  private RedisServer(Path program) {
    super("redis", Signal.KILL);
    this.program = program;
  }

  /** The one server of this JVM, started at the first call; closing it has no effect. */
  public static synchronized RedisServer shared() {
    if (shared == null) {
      shared = start();
      shared.keep();
    }
    return shared;
  }

  /** A server for tests that crash or pause it. */
  public static RedisServer start() {
    RedisServer server = new RedisServer(program());
    server.initialiseAndLaunch();
    return server;
  }

  private static Path program() {
    return Stream.of(
            "/usr/bin/redis-server", "/usr/sbin/redis-server", "/usr/local/bin/redis-server")
        .map(Path::of)
        .filter(Files::isExecutable)
        .findFirst()
        .orElseThrow(
            () ->
                new IllegalStateException("Redis comes from Debian: apt-get install redis-server"));
  }

  @Override
  String title() {
    return "Redis";
  }

  @Override
  List<String> command() {
    return List.of(
        program.toString(),
        "--bind",
        "127.0.0.1",
        "--port",
        Integer.toString(port()),
        "--dir",
        home().toString(),
        "--daemonize",
        "no",
        // Its arguments stay visible, so that whoever looks for leftovers finds its directory.
        "--set-proc-title",
        "no",
        "--save",
        "",
        "--appendonly",
        "yes",
        "--appendfsync",
        "always");
  }

  /** A server that still loads its data answers with an error. */
  @Override
  boolean answers() {
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port())) {
      socket.setSoTimeout(ANSWER_LIMIT_MILLIS);
      socket.getOutputStream().write("PING\r\n".getBytes(StandardCharsets.US_ASCII));
      byte[] answer = socket.getInputStream().readNBytes(5);
      return new String(answer, StandardCharsets.US_ASCII).equals("+PONG");
    } catch (IOException e) {
      return false;
    }
  }
}
