package dev.pigeonhole.webhook;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import dev.pigeonhole.Headers;
import dev.pigeonhole.PoisonException;
import dev.pigeonhole.RetryLaterException;
import dev.pigeonhole.tck.TransportContract;
import dev.pigeonhole.tck.TransportTarget;
import dev.pigeonhole.transport.Envelope;
import dev.pigeonhole.transport.Sent;
import dev.pigeonhole.transport.Transport;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.URLDecoder;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalInt;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** An address that takes POST requests is a transport like any other. */
class HttpTransportTest extends TransportContract {
  private static final InetAddress HERE = InetAddress.getLoopbackAddress();

  @Override
  protected TransportTarget target() {
    return new Server();
  }

  private static Sent send(Server server) throws InterruptedException {
    Envelope envelope =
        Envelope.of("http", "x").id("m-1").type("t").body("{}".getBytes(UTF_8)).build();
    return server.transport().send(List.of(envelope), Duration.ofMinutes(5)).get(0);
  }

  @Test
  void whatWillNeverBeTakenIsOverAndWhatIsTooMuchComesLater() throws InterruptedException {
    try (Server server = new Server()) {
      server.status = 422;
      assertThat(((Sent.Failed) send(server)).cause()).isInstanceOf(PoisonException.class);
      server.status = 429;
      assertThat(((Sent.Failed) send(server)).cause()).isInstanceOf(RetryLaterException.class);
      server.status = 500;
      assertThat(((Sent.Failed) send(server)).cause())
          .isNotInstanceOf(PoisonException.class)
          .hasMessageStartingWith("PH-WEB-10");
      server.status = 410;
      assertThat(send(server)).isInstanceOf(Sent.Unroutable.class);
    }
  }

  @Test
  void nobodyThereIsAFailureAndNoTimeout() throws InterruptedException {
    Server server = new Server();
    server.close();
    assertThat(((Sent.Failed) send(server)).cause()).hasMessageStartingWith("PH-WEB-10");
  }

  @Test
  void oneMessageHasTheTimeOfARequestWhereTheOutboxHasMore() throws Exception {
    CountDownLatch done = new CountDownLatch(1);
    try (Partner partner =
        Partner.answering(
            out -> {
              try {
                done.await();
              } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
              }
            })) {
      Transport transport = outgoing(partner).timeout(Duration.ofMillis(200)).transport();
      Envelope envelope = Envelope.of("http", "x").id("m-1").type("t").build();
      Sent sent = transport.send(List.of(envelope), Duration.ofMinutes(5)).get(0);
      done.countDown();
      assertThat(((Sent.Failed) sent).cause())
          .hasMessageStartingWith("PH-OBX-04")
          .hasMessageContaining("PT0.2S");
    }
  }

  /** When it answers the first, more than half of the time is over. */
  @Test
  void whatASlowOtherSideLeavesNoTimeForIsNoFailure() throws Exception {
    CountDownLatch never = new CountDownLatch(1);
    try (Partner partner =
        Partner.answering(
            out -> {
              try {
                boolean unused = never.await(11, TimeUnit.SECONDS);
              } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
              }
              out.write("HTTP/1.1 204 taken\r\n\r\n".getBytes(UTF_8));
            })) {
      Transport transport = outgoing(partner).timeout(Duration.ofMinutes(1)).transport();
      List<Envelope> envelopes =
          Stream.of("m-1", "m-2", "m-3")
              .map(id -> Envelope.of("http", "x").id(id).type("t").build())
              .toList();
      List<Sent> sent = transport.send(envelopes, Duration.ofSeconds(20));

      assertThat(sent.get(0)).isEqualTo(new Sent.Confirmed());
      assertThat(sent.subList(1, 3))
          .extracting(each -> ((Sent.Failed) each).cause())
          .allSatisfy(
              cause ->
                  assertThat(cause)
                      .isInstanceOfSatisfying(
                          RetryLaterException.class,
                          later -> assertThat(later.counted()).isFalse()));
      assertThat(partner.requests).hasSize(1);
    }
  }

  @Test
  void aHeaderOfAMessageNeverStandsBesideTheOneOfEveryRequest() throws Exception {
    try (Partner partner = Partner.answering("HTTP/1.1 204 taken\r\n\r\n")) {
      sendTo(partner, Map.of("authorization", "Bearer theirs", "Webhook-Type", "u"));
      assertThat(values(partner, "authorization")).containsExactly("Bearer ours");
      assertThat(values(partner, "webhook-type")).containsExactly("t");
    }
  }

  @Test
  void aListIsALineForEachValueAndWhatHttpCannotCarryIsLeftOut() throws Exception {
    try (Partner partner = Partner.answering("HTTP/1.1 204 taken\r\n\r\n")) {
      sendTo(
          partner,
          Map.of(
              "tags",
              List.of("b", "a, c", 7),
              "none",
              List.of(),
              "bytes",
              List.of(new byte[] {1}),
              "torn",
              List.of("ok", "no\r\nX-Evil: yes"),
              "nested",
              List.of(List.of("a")),
              "map",
              Map.of("a", "b")));
      assertThat(values(partner, "tags")).containsExactly("b", "a, c", "7");
      for (String name : List.of("none", "bytes", "torn", "nested", "map", "x-evil")) {
        assertThat(values(partner, name)).as(name).isEmpty();
      }
    }
  }

  private static OutgoingHttp outgoing(Partner partner) {
    return OutgoingHttp.create()
        .allowPorts(partner.port())
        .unsafeAllowHttp()
        .unsafeAllowPrivateAddresses()
        .to(URI.create("http://127.0.0.1:" + partner.port() + "/hooks"));
  }

  private static void sendTo(Partner partner, Map<String, ?> headers) throws InterruptedException {
    Transport transport = outgoing(partner).header("Authorization", "Bearer ours").transport();
    Envelope envelope =
        Envelope.of("http", "x").id("m-1").type("t").headers(Headers.of(headers)).build();
    assertThat(transport.send(List.of(envelope), Duration.ofMinutes(5)))
        .containsExactly(new Sent.Confirmed());
  }

  /** HTTP does not tell names apart by the size of their letters. */
  private static List<String> values(Partner partner, String header) {
    return partner
        .requests
        .get(0)
        .lines()
        .filter(line -> line.toLowerCase(Locale.ROOT).startsWith(header + ":"))
        .map(line -> line.substring(header.length() + 1).strip())
        .toList();
  }

  /** Two paths, of which one is not there. */
  private static final class Server implements TransportTarget {
    private final HttpServer http;
    private final ExecutorService threads = Executors.newCachedThreadPool();
    private final List<Envelope> arrived = new ArrayList<>(); // guarded by this, as below
    private @Nullable CountDownLatch gate;
    volatile int status = 204;

    Server() {
      try {
        http = HttpServer.create(new InetSocketAddress(HERE, 0), 100);
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
      http.createContext("/hooks", this::take);
      http.setExecutor(threads);
      http.start();
    }

    private void take(HttpExchange exchange) throws IOException {
      try (exchange) {
        byte[] body = exchange.getRequestBody().readAllBytes();
        Envelope envelope = envelope(exchange, body);
        CountDownLatch closed;
        synchronized (this) {
          arrived.add(envelope);
          closed = gate;
        }
        if (closed != null) {
          closed.await();
        }
        exchange.getResponseHeaders().set("Retry-After", status == 429 ? "7" : "");
        exchange.sendResponseHeaders(status, -1);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }

    private static Envelope envelope(HttpExchange exchange, byte[] body) {
      Map<String, @Nullable Object> headers = new LinkedHashMap<>();
      exchange
          .getRequestHeaders()
          .forEach((name, values) -> headers.put(name.toLowerCase(Locale.ROOT), values.get(0)));
      return Envelope.of("http", "/hooks")
          .id(URLDecoder.decode(String.valueOf(headers.get("webhook-id")), UTF_8))
          .type(String.valueOf(headers.get("webhook-type")))
          .contentType(String.valueOf(headers.get("content-type")))
          .headers(Headers.of(headers))
          .body(body)
          .build();
    }

    private Transport to(String path) {
      int port = http.getAddress().getPort();
      return OutgoingHttp.create()
          .allowPorts(port)
          .unsafeAllowHttp()
          .unsafeAllowPrivateAddresses()
          .resolver(host -> new InetAddress[] {HERE})
          .timeout(Duration.ofMinutes(10))
          .to(URI.create("http://partner.example:" + port + path))
          .transport();
    }

    @Override
    public Transport transport() {
      return to("/hooks");
    }

    @Override
    public Transport toNowhere() {
      return to("/nothing-here");
    }

    @Override
    public synchronized List<Envelope> received() {
      return List.copyOf(arrived);
    }

    @Override
    public synchronized void stall() {
      gate = new CountDownLatch(1);
    }

    @Override
    public synchronized void resume() {
      if (gate != null) {
        gate.countDown();
        gate = null;
      }
    }

    @Override
    public OptionalInt tooLarge() {
      return OptionalInt.empty();
    }

    @Override
    public void close() {
      resume();
      http.stop(0);
      threads.shutdownNow();
    }
  }
}
