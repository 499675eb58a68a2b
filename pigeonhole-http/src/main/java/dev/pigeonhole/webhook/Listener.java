package dev.pigeonhole.webhook;

import com.sun.net.httpserver.Headers;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpHandler;
import com.sun.net.httpserver.HttpServer;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.http.HttpAnswer;
import dev.pigeonhole.http.HttpCall;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The server of the JDK, from start to stop. It knows no limits of its own for what it hands us, so
 * they are kept here: how long an address may be, how much is read, and for how long.
 */
final class Listener implements HttpHandler {
  private static final Logger LOG = LoggerFactory.getLogger(Listener.class);
  private static final int LONGEST_TARGET = 2_000;
  private static final int WAITING_PER_THREAD = 16;

  private final HttpServer server;
  private final ThreadPoolExecutor threads;
  private final Map<String, WebhookEndpoint> endpoints;
  private final Duration readWithin;
  private final Cut.Timer timer;
  private final Gate gate = new Gate();
  private final ThreadLocal<Cut> head = new ThreadLocal<>();

  /**
   * Listens at once.
   *
   * @param endpoints by path
   */
  Listener(
      InetSocketAddress address,
      Map<String, WebhookEndpoint> endpoints,
      int threads,
      Duration readWithin,
      Cut.Timer timer)
      throws IOException {
    this.endpoints = endpoints;
    this.readWithin = readWithin;
    this.timer = timer;
    this.server = HttpServer.create(address, 0);
    this.threads = pool(threads, port());
    server.setExecutor(exchange -> this.threads.execute(() -> run(exchange)));
    server.createContext("/", this);
    server.start();
  }

  /**
   * With all threads busy and a full line behind them, the thread that takes connections waits, and
   * with it everybody outside: better than a request that is taken and forgotten.
   */
  private static ThreadPoolExecutor pool(int size, int port) {
    AtomicInteger number = new AtomicInteger();
    return new ThreadPoolExecutor(
        size,
        size,
        0,
        TimeUnit.SECONDS,
        new ArrayBlockingQueue<>(size * WAITING_PER_THREAD),
        work -> {
          Thread thread =
              new Thread(work, "pigeonhole-webhook-" + port + "-" + number.incrementAndGet());
          thread.setDaemon(true);
          return thread;
        },
        (work, pool) -> {
          try {
            if (pool.isShutdown()) {
              throw new RejectedExecutionException("stopped");
            }
            pool.getQueue().put(work);
          } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new RejectedExecutionException(e);
          }
        });
  }

  int port() {
    return server.getAddress().getPort();
  }

  Gate gate() {
    return gate;
  }

  /** Answers who is inside; from now on nobody else gets there. */
  void stop(Duration patience) {
    gate.close();
    gate.awaitEmpty(patience);
    threads.shutdown(); // whoever takes connections is refused from now on,
    threads.getQueue().clear(); // and let go, should it wait for a place
    server.stop(0);
  }

  /** The server reads the head in here before it calls us, and would wait for it for ever. */
  private void run(Runnable exchange) {
    Cut cut = Cut.after(timer, readWithin);
    head.set(cut);
    try {
      exchange.run();
    } finally {
      head.remove();
      cut.end();
    }
  }

  @Override
  public void handle(HttpExchange exchange) throws IOException {
    if (!head.get().end()) {
      throw new IOException("the head came too slowly");
    }
    Headers headers = exchange.getRequestHeaders();
    if (isAmbiguous(headers)) {
      refuseAmbiguous(exchange);
      // Where this request ends nobody knows, so nothing behind it may be read as the next one.
      throw new IOException("ambiguous length");
    }
    try {
      answer(exchange, headers);
    } catch (Error e) { // the server hangs up on exceptions alone
      LOG.error("A webhook could not answer", e);
      throw new IOException("an error while accepting", e);
    }
  }

  private void refuseAmbiguous(HttpExchange exchange) throws IOException {
    RefusedException refusal =
        new RefusedException(
            400, ErrorCode.REQUEST_NOT_TAKEN, "The length of the body is in doubt");
    try {
      endpoint(exchange.getRequestURI().toString()).tell(refusal);
    } catch (RefusedException e) {
      // It would not have been found either, and is not worth a line.
    }
    Cut cut = Cut.after(timer, readWithin);
    try {
      write(exchange, refusal.answer());
    } finally {
      cut.end();
    }
  }

  private void answer(HttpExchange exchange, Headers headers) throws IOException {
    WebhookEndpoint endpoint;
    try {
      endpoint = endpoint(exchange.getRequestURI().toString());
    } catch (RefusedException e) { // whatever wanders about out there is not worth a line
      send(exchange, e.answer());
      return;
    }
    try {
      endpoint.checkHead(exchange.getRequestMethod(), headers);
      if (!gate.isOpen()) {
        throw endpoint.notNow();
      }
      accept(exchange, endpoint, read(exchange, endpoint.maxBody()));
    } catch (RefusedException e) {
      endpoint.tell(e);
      send(exchange, e.answer());
    }
  }

  /** Whoever is inside stays there until the answer is on its way. */
  private void accept(HttpExchange exchange, WebhookEndpoint endpoint, byte[] body)
      throws IOException, RefusedException {
    if (!gate.enter()) {
      throw endpoint.notNow();
    }
    try {
      HttpCall call =
          new HttpCall(
              exchange.getRequestMethod(),
              exchange.getRequestURI().toString(),
              exchange.getRequestHeaders(),
              body);
      HttpAnswer answer = endpoint.answer(call);
      boolean unused = Thread.interrupted(); // a handler's; it would tear the connection
      send(exchange, answer);
    } finally {
      gate.leave();
    }
  }

  /** Letter by letter: an address that has to be understood first is another address. */
  private WebhookEndpoint endpoint(String target) throws RefusedException {
    if (target.length() > LONGEST_TARGET) {
      throw new RefusedException(414, ErrorCode.REQUEST_NOT_TAKEN, "The address is too long");
    }
    WebhookEndpoint endpoint = endpoints.get(target.split("\\?", 2)[0]);
    if (endpoint == null) {
      throw new RefusedException(404, ErrorCode.REQUEST_NOT_TAKEN, "There is nothing here");
    }
    return endpoint;
  }

  /** Two ways to tell the length let a proxy and us see two different requests. */
  private static boolean isAmbiguous(Headers headers) {
    List<String> lengths = headers.getOrDefault("Content-length", List.of());
    List<String> transfers = headers.getOrDefault("Transfer-encoding", List.of());
    return lengths.size() + transfers.size() > 1
        || lengths.stream().anyMatch(length -> !length.strip().matches("[0-9]{1,18}"));
  }

  private byte[] read(HttpExchange exchange, int limit) throws IOException, RefusedException {
    String length = exchange.getRequestHeaders().getFirst("Content-length");
    if (length != null && Long.parseLong(length.strip()) > limit) {
      throw WebhookEndpoint.tooLarge();
    }
    Cut cut = Cut.after(timer, readWithin, () -> tellTooSlow(exchange));
    byte[] body;
    boolean inTime;
    try {
      body = exchange.getRequestBody().readNBytes(limit + 1);
    } finally {
      inTime = cut.end();
    }
    if (!inTime) {
      throw new IOException("the body came too slowly");
    }
    if (body.length > limit) {
      throw WebhookEndpoint.tooLarge();
    }
    return body;
  }

  /** Called while another thread still waits for the body; reading and writing do not meet. */
  private static void tellTooSlow(HttpExchange exchange) {
    try {
      write(
          exchange, Problem.of(408, ErrorCode.REQUEST_TOO_SLOW, "The body did not arrive in time"));
    } catch (IOException e) {
      // The sender has gone; the connection is closed next.
    }
  }

  /** Closing reads what is left of a body, so that the sender sees the answer; not for ever. */
  private void send(HttpExchange exchange, HttpAnswer answer) throws IOException {
    Cut cut = Cut.after(timer, readWithin);
    try {
      write(exchange, answer);
      exchange.close();
    } finally {
      cut.end();
    }
  }

  private static void write(HttpExchange exchange, HttpAnswer answer) throws IOException {
    byte[] body = exchange.getRequestMethod().equals("HEAD") ? new byte[0] : answer.body();
    exchange.getResponseHeaders().putAll(answer.headers());
    exchange.sendResponseHeaders(answer.status(), body.length == 0 ? -1 : body.length);
    if (body.length > 0) {
      exchange.getResponseBody().write(body);
      exchange.getResponseBody().flush();
    }
  }
}
