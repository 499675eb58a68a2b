package dev.pigeonhole.support;

import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A real Redis from Debian's package, on a port and with a directory of its own, that can be
 * crashed, paused and brought back. It writes every change to disk before it answers, as nobody
 * does in production, so that what a test finds missing was lost by somebody else.
 */
public final class RedisServer implements AutoCloseable {
  private static final Duration START_LIMIT = Duration.ofSeconds(60);
  private static final int ATTEMPTS_TO_FIND_A_PORT = 5;
  private static final int ANSWER_LIMIT_MILLIS = 1_000;

  private static @Nullable RedisServer shared;

  private final Path program = program();
  private final Path home = Scratch.directory("redis");
  private final Runnable cleanup = this::destroy;
  private volatile boolean kept;
  private volatile int port;
  private @Nullable ServerProcess process;

  private RedisServer() {}

  /** The one server of this JVM, started at the first call; closing it has no effect. */
  public static synchronized RedisServer shared() {
    if (shared == null) {
      shared = start();
      shared.kept = true;
    }
    return shared;
  }

  /** A server for tests that crash or pause it. */
  public static RedisServer start() {
    RedisServer server = new RedisServer();
    AtExit.add(server.cleanup);
    try {
      server.launchOnFreePort();
    } catch (RuntimeException | AssertionError e) {
      server.destroy();
      throw e;
    }
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

  private void launchOnFreePort() {
    for (int attempt = 1; ; attempt++) {
      port = Ports.free();
      try {
        launch();
        return;
      } catch (IllegalStateException e) {
        // Most likely somebody else took the port between our look and the start.
        if (attempt == ATTEMPTS_TO_FIND_A_PORT) {
          throw e;
        }
      }
    }
  }

  private void launch() {
    ServerProcess started = ServerProcess.start(home, Signal.KILL, command());
    process = started;
    Eventually.until("Redis to start", START_LIMIT, () -> !started.isAlive() || answers());
    if (!started.isAlive()) {
      throw new IllegalStateException("Redis ended at once:\n" + started.logTail());
    }
  }

  private List<String> command() {
    return List.of(
        program.toString(),
        "--bind",
        "127.0.0.1",
        "--port",
        Integer.toString(port),
        "--dir",
        home.toString(),
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
  private boolean answers() {
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
      socket.setSoTimeout(ANSWER_LIMIT_MILLIS);
      socket.getOutputStream().write("PING\r\n".getBytes(StandardCharsets.US_ASCII));
      byte[] answer = socket.getInputStream().readNBytes(5);
      return new String(answer, StandardCharsets.US_ASCII).equals("+PONG");
    } catch (IOException e) {
      return false;
    }
  }

  public int port() {
    return port;
  }

  /** Kills the server without a warning. */
  public synchronized void crash() {
    latest().killTree();
  }

  /** Starts the server again after a crash, with what it has on disk. */
  public synchronized void restart() {
    if (latest().isAlive()) {
      crash();
    }
    launch();
  }

  /** Freezes the server: connections stay open, and nobody answers. */
  public synchronized void pause() {
    latest().pause();
  }

  public synchronized void resume() {
    latest().resume();
  }

  /** Kills the server and deletes its data, unless it is the shared one. */
  @Override
  public void close() {
    if (!kept) {
      destroy();
    }
  }

  private synchronized void destroy() {
    AtExit.remove(cleanup);
    if (process != null && process.isAlive()) {
      process.killTree();
    }
    if (Files.exists(home)) {
      Scratch.delete(home);
    }
  }

  @Override
  public String toString() {
    return "Redis on port " + port;
  }

  private ServerProcess latest() {
    if (process == null) {
      throw new IllegalStateException("The server was never started");
    }
    return process;
  }
}
