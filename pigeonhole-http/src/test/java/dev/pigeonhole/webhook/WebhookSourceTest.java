package dev.pigeonhole.webhook;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.pigeonhole.support.Ports;
import dev.pigeonhole.tck.SourceBroker;
import dev.pigeonhole.tck.SourceContract;
import dev.pigeonhole.transport.Envelope;
import dev.pigeonhole.transport.MessageSource;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A webhook as a source: its broker is a sender that comes again until it is told 202, or never.
 */
class WebhookSourceTest extends SourceContract {
  private static final String SECRET = "a secret that is long enough";
  private static final long PACE_NANOS = 10_000_000;

  /**
   * The server of the JDK forgets a connection that it accepts in the moment of its stop: nobody
   * answers and nobody hangs up, so whoever waits for ever waits for ever. Shorter than the
   * patience of the contract, which waits for what comes again.
   */
  private static final Duration PATIENCE_OF_SENDERS = Duration.ofSeconds(20);

  private static final Pattern CODE = Pattern.compile("PH-[A-Z]+-[0-9]+");

  @Override
  protected SourceBroker broker() {
    return new Sender(Ports.free());
  }

  private static final class Sender implements SourceBroker {
    private final int port;
    private final HttpClient client = HttpClient.newHttpClient();
    private final ExecutorService threads = Executors.newFixedThreadPool(8);
    private final AtomicLong unacknowledged = new AtomicLong();
    private final List<PutAside> aside = new CopyOnWriteArrayList<>();
    private volatile boolean closed;

    Sender(int port) {
      this.port = port;
    }

    @Override
    public MessageSource source() {
      Webhook webhook =
          Webhook.at("/hooks/contract")
              .verifiedBy(Signature.hmac("X-Proof", SECRET).idFrom("X-Id").typeFrom("X-Type"))
              .contentTypes("application/json", "application/xml", "application/octet-stream");
      return WebhookServer.onPort(port).serving(webhook);
    }

    @Override
    public void send(Envelope envelope) {
      unacknowledged.incrementAndGet();
      threads.execute(() -> sendUntilTaken(envelope, request(envelope)));
    }

    private void sendUntilTaken(Envelope envelope, HttpRequest request) {
      while (!closed) {
        try {
          HttpResponse<String> answer = client.send(request, HttpResponse.BodyHandlers.ofString());
          if (answer.statusCode() == 202) {
            unacknowledged.decrementAndGet();
            return;
          }
          if (answer.statusCode() < 500) {
            Matcher code = CODE.matcher(answer.body());
            String reason = code.find() ? code.group() : answer.statusCode() + answer.body();
            aside.add(new PutAside(envelope.id().orElse(""), reason));
            unacknowledged.decrementAndGet();
            return;
          }
        } catch (IOException e) {
          // Nobody listens yet, or the connection was lost: it comes again.
        } catch (InterruptedException e) {
          return;
        }
        LockSupport.parkNanos(PACE_NANOS);
      }
    }

    private HttpRequest request(Envelope envelope) {
      byte[] body = envelope.body() == null ? new byte[0] : envelope.body();
      HttpRequest.Builder request =
          HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + "/hooks/contract"))
              .POST(HttpRequest.BodyPublishers.ofByteArray(body))
              .timeout(PATIENCE_OF_SENDERS)
              .header(
                  "X-Proof", HexFormat.of().formatHex(Proofs.hmac(SECRET.getBytes(UTF_8), body)));
      envelope.id().ifPresent(id -> request.header("X-Id", id));
      envelope.type().ifPresent(type -> request.header("X-Type", type));
      envelope.contentType().ifPresent(type -> request.header("Content-Type", type));
      envelope
          .headers()
          .asMap()
          .forEach((name, value) -> request.header(name, String.valueOf(value)));
      return request.build();
    }

    @Override
    public long unacknowledged() {
      return unacknowledged.get();
    }

    @Override
    public List<PutAside> aside() {
      return aside;
    }

    @Override
    public int tooLarge() {
      return 1_000_001;
    }

    @Override
    public void close() {
      closed = true;
      threads.shutdownNow();
    }
  }
}
