package dev.pigeonhole.support;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.time.Duration;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A TCP proxy on the loopback interface that breaks connections on demand. A test that provokes a
 * fault should check {@link #hits()} afterwards: without a hit it has proved nothing.
 */
public final class FaultProxy implements AutoCloseable {

  private final InetSocketAddress target;
  private final Supplier<RequestReader> protocol;
  private final int port;
  private final Set<ProxiedConnection> connections = ConcurrentHashMap.newKeySet();
  private final AtomicInteger accepted = new AtomicInteger();
  private final AtomicInteger hits = new AtomicInteger();
  private final AtomicReference<@Nullable StatementTrap> statementTrap = new AtomicReference<>();
  private final AtomicReference<@Nullable PatternTrap> patternTrap = new AtomicReference<>();
  private final Set<Direction> dark = EnumSet.noneOf(Direction.class); // guarded by this
  private volatile Duration latency = Duration.ZERO;
  private @Nullable Listener listener; // guarded by this

  private record Listener(ServerSocket socket, Thread acceptor) {}

  private record StatementTrap(
      Predicate<String> sql, AtomicInteger occurrencesLeft, StatementFault fault) {}

  /** Where a connection is cut; each connection counts for itself. */
  static final class PatternTrap {

    private final Direction direction;
    private final byte[] pattern;
    private final int nth;

    private PatternTrap(Direction direction, byte[] pattern, int nth) {
      this.direction = direction;
      this.pattern = pattern;
      this.nth = nth;
    }

    @Nullable BytePattern newMatch(Direction direction) {
      return direction == this.direction ? new BytePattern(pattern, nth) : null;
    }
  }

  private FaultProxy(InetSocketAddress target, Supplier<RequestReader> protocol) {
    this.target = target;
    this.protocol = protocol;
    this.port = listenSomewhere();
  }

  /** Somebody else may take a free port before we do. */
  private int listenSomewhere() {
    for (int attempt = 1; ; attempt++) {
      int candidate = Ports.free();
      try {
        listen(candidate);
        return candidate;
      } catch (UncheckedIOException e) {
        if (attempt == 10) {
          throw e;
        }
      }
    }
  }

  /** A proxy that knows bytes only. */
  public static FaultProxy to(String host, int port) {
    return new FaultProxy(new InetSocketAddress(host, port), RequestReader::none);
  }

  /** A proxy that also understands which statements pass. */
  public static FaultProxy to(DatabaseServer server) {
    return new FaultProxy(
        new InetSocketAddress(InetAddress.getLoopbackAddress(), server.port()),
        () -> RequestReader.of(server.kind()));
  }

  /** Where clients connect to, always on 127.0.0.1. */
  public int port() {
    return port;
  }

  /** Where connections go to. */
  int targetPort() {
    return target.getPort();
  }

  /** How often a fault has struck a connection. */
  public int hits() {
    return hits.get();
  }

  /** How many connections there have been. */
  public int connections() {
    return accepted.get();
  }

  /** Resets all connections that are open now. */
  public void cut() {
    for (ProxiedConnection connection : connections) {
      strike(connection);
    }
  }

  /** Whether new connections are refused. Those that are open go on. */
  public synchronized void refuse(boolean refuse) {
    if (refuse) {
      stopListening();
    } else if (listener == null) {
      listen(port);
    }
  }

  /**
   * Lets nothing through in these directions, neither bytes nor the end of a connection. Nothing is
   * lost for ever: as TCP would, the proxy delivers what it held back after {@link #heal()}.
   */
  public synchronized void blackhole(Direction... directions) {
    dark.addAll(List.of(directions));
  }

  /** Ends {@link #blackhole} and {@link #latency}, and forgets all traps that have not sprung. */
  public synchronized void heal() {
    dark.clear();
    latency = Duration.ZERO;
    statementTrap.set(null);
    patternTrap.set(null);
    notifyAll();
  }

  /** Delays every piece of data, in both directions. */
  public void latency(Duration latency) {
    this.latency = latency;
  }

  /** Cuts the first connection that carries these bytes, right after the last of them. */
  public void cutAfter(Direction direction, byte[] pattern) {
    cutAfter(direction, pattern, 1);
  }

  /** Cuts the first connection that carries these bytes for the n-th time. */
  public void cutAfter(Direction direction, byte[] pattern, int nth) {
    patternTrap.set(new PatternTrap(direction, pattern.clone(), nth));
  }

  /** Strikes the next COMMIT on any connection; for proxies made by {@link #to(DatabaseServer)}. */
  public void atCommit(StatementFault fault) {
    atCommit(1, fault);
  }

  /** Strikes the n-th COMMIT from now on, counted over all connections. */
  public void atCommit(int nth, StatementFault fault) {
    atStatement(sql -> sql.equalsIgnoreCase("COMMIT"), nth, fault);
  }

  /**
   * Strikes the n-th statement from now on that matches, counted over all connections, and only
   * that one.
   */
  public void atStatement(Predicate<String> sql, int nth, StatementFault fault) {
    statementTrap.set(new StatementTrap(sql, new AtomicInteger(nth), fault));
  }

  /** What is to happen to a statement that a connection is about to pass on. */
  @Nullable StatementFault faultFor(String sql) {
    StatementTrap trap = statementTrap.get();
    if (trap == null
        || !trap.sql.test(sql)
        || trap.occurrencesLeft.decrementAndGet() != 0
        || !statementTrap.compareAndSet(trap, null)) {
      return null;
    }
    return trap.fault;
  }

  @Nullable PatternTrap patternTrap() {
    return patternTrap.get();
  }

  /** True for the one connection that may spring the trap. */
  boolean spring(PatternTrap trap) {
    return patternTrap.compareAndSet(trap, null);
  }

  Duration latency() {
    return latency;
  }

  /** Returns when the direction is open, or the connection has ended. */
  synchronized void awaitLight(Direction direction, ProxiedConnection connection)
      throws InterruptedException {
    if (dark.contains(direction)) {
      hits.incrementAndGet();
    }
    while (dark.contains(direction) && connection.isOpen()) {
      wait();
    }
  }

  void strike(ProxiedConnection connection) {
    if (connection.end()) {
      // Counted before the client can notice anything.
      hits.incrementAndGet();
      connection.abort();
    }
  }

  synchronized void ended(ProxiedConnection connection) {
    connections.remove(connection);
    notifyAll();
  }

  private synchronized void listen(int port) {
    try {
      ServerSocket socket = new ServerSocket();
      socket.setReuseAddress(true);
      socket.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
      listener = new Listener(socket, daemon("fault-proxy-" + port, () -> acceptFrom(socket)));
    } catch (IOException e) {
      throw new UncheckedIOException("Cannot listen on port " + port, e);
    }
  }

  private synchronized void stopListening() {
    if (listener != null) {
      closeQuietly(listener.socket);
      // The kernel goes on to accept clients until the thread has left its call of accept.
      try {
        listener.acceptor.join();
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
      listener = null;
    }
  }

  private void acceptFrom(ServerSocket socket) {
    while (!socket.isClosed()) {
      try {
        connect(socket.accept());
      } catch (IOException e) {
        // The listener was closed, or the server behind us is down: the client learns it alone.
      }
    }
  }

  private void connect(Socket client) throws IOException {
    Socket server = new Socket();
    try {
      server.connect(target);
    } catch (IOException e) {
      closeQuietly(client);
      throw e;
    }
    ProxiedConnection connection = new ProxiedConnection(this, client, server, protocol.get());
    connections.add(connection);
    accepted.incrementAndGet();
    daemon("fault-proxy-" + port + "-to-server", connection::pumpToServer);
    daemon("fault-proxy-" + port + "-to-client", connection::pumpToClient);
  }

  private static Thread daemon(String name, Runnable task) {
    Thread thread = new Thread(task, name);
    thread.setDaemon(true);
    thread.start();
    return thread;
  }

  static void closeQuietly(AutoCloseable closeable) {
    try {
      closeable.close();
    } catch (Exception e) {
      // It is gone, which is all we want.
    }
  }

  @Override
  public void close() {
    stopListening();
    connections.forEach(ProxiedConnection::abort);
  }
}
