package dev.pigeonhole.support;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.Socket;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** One client and its server, with a thread for each direction. */
final class ProxiedConnection {

  private static final int PIECE = 64 * 1024;

  private final FaultProxy proxy;
  private final Socket client;
  private final Socket server;
  private final RequestReader requests;
  private final Trap toServer = new Trap(Direction.TO_SERVER);
  private final Trap toClient = new Trap(Direction.TO_CLIENT);
  private final CountDownLatch closed = new CountDownLatch(1);
  private volatile boolean answerDoomed;

  ProxiedConnection(FaultProxy proxy, Socket client, Socket server, RequestReader requests)
      throws IOException {
    this.proxy = proxy;
    this.client = client;
    this.server = server;
    this.requests = requests;
    client.setTcpNoDelay(true);
    server.setTcpNoDelay(true);
  }

  boolean isOpen() {
    return closed.getCount() > 0;
  }

  void pumpToServer() {
    pump(
        client,
        server,
        Direction.TO_SERVER,
        (bytes, length, out) -> {
          for (RequestReader.Request request : requests.feed(bytes, length)) {
            StatementFault fault = proxy.faultFor(request.sql());
            if (fault != null) {
              strike(fault, request, bytes, length, out);
              return;
            }
          }
          toServer.pass(bytes, length, out);
        });
  }

  private void strike(
      StatementFault fault,
      RequestReader.Request request,
      byte[] bytes,
      int length,
      OutputStream out)
      throws IOException {
    switch (fault) {
      case REQUEST_LOST -> {
        out.write(bytes, 0, request.start());
        proxy.strike(this);
      }
      // Doomed before the request leaves: the other thread may hold the answer a moment later.
      case ANSWER_LOST -> {
        answerDoomed = true;
        out.write(bytes, 0, length);
      }
      case CUT_IN_FLIGHT -> {
        answerDoomed = true;
        out.write(bytes, 0, length);
        proxy.strike(this);
      }
    }
  }

  void pumpToClient() {
    pump(
        server,
        client,
        Direction.TO_CLIENT,
        (bytes, length, out) -> {
          if (answerDoomed) {
            proxy.strike(this);
          } else {
            toClient.pass(bytes, length, out);
          }
        });
  }

  private void pump(Socket from, Socket to, Direction direction, Passage passage) {
    byte[] bytes = new byte[PIECE];
    try {
      InputStream in = from.getInputStream();
      OutputStream out = to.getOutputStream();
      while (isOpen()) {
        int length = in.read(bytes);
        // A delay that a cut ends at once.
        closed.await(proxy.latency().toMillis(), TimeUnit.MILLISECONDS);
        proxy.awaitLight(direction, this);
        if (length < 0) {
          to.shutdownOutput();
          return;
        }
        if (isOpen()) {
          passage.pass(bytes, length, out);
        }
      }
    } catch (IOException e) {
      // One side is gone; so is the connection.
      abort();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      abort();
    } finally {
      if (from.isClosed() || (client.isOutputShutdown() && server.isOutputShutdown())) {
        end();
      }
    }
  }

  /**
   * Closes both sockets, that of the client with a reset. The server gets an ordinary end, so that
   * it still reads everything that was sent to it before.
   */
  void abort() {
    end();
    try {
      client.setSoLinger(true, 0);
    } catch (IOException e) {
      // Closed by the client already.
    }
    FaultProxy.closeQuietly(client);
    FaultProxy.closeQuietly(server);
  }

  /** Stops both threads after their current piece; false if they had been stopped before. */
  boolean end() {
    synchronized (closed) {
      if (!isOpen()) {
        return false;
      }
      closed.countDown();
    }
    proxy.ended(this);
    return true;
  }

  @FunctionalInterface
  private interface Passage {
    void pass(byte[] bytes, int length, OutputStream out) throws IOException;
  }

  /** Watches one direction for the bytes after which the connection is to be cut. */
  private final class Trap {

    private final Direction direction;
    private FaultProxy.@Nullable PatternTrap armed;
    private @Nullable BytePattern match;

    Trap(Direction direction) {
      this.direction = direction;
    }

    void pass(byte[] bytes, int length, OutputStream out) throws IOException {
      int end = endOfPattern(bytes, length);
      out.write(bytes, 0, end < 0 ? length : end);
      if (end >= 0) {
        proxy.strike(ProxiedConnection.this);
      }
    }

    private int endOfPattern(byte[] bytes, int length) {
      FaultProxy.PatternTrap current = proxy.patternTrap();
      if (current != armed) {
        armed = current;
        match = current == null ? null : current.newMatch(direction);
      }
      if (match == null || armed == null) {
        return -1;
      }
      int end = match.endIn(bytes, length);
      return end >= 0 && proxy.spring(armed) ? end : -1;
    }
  }
}
