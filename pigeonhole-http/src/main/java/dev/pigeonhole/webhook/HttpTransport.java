package dev.pigeonhole.webhook;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.RetryLaterException;
import dev.pigeonhole.transport.Envelope;
import dev.pigeonhole.transport.SendThreads;
import dev.pigeonhole.transport.Sent;
import dev.pigeonhole.transport.Transport;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/** Posts envelopes one after the other, each in a request of its own. */
final class HttpTransport implements Transport {
  private static final String TYPE = "webhook-type";

  private final OutgoingHttp http;
  private final String destination;
  private final SendThreads threads = new SendThreads("pigeonhole-http-transport");

  /**
   * @param destination without path and secrets
   */
  HttpTransport(OutgoingHttp http, String destination) {
    this.http = http;
    this.destination = destination;
  }

  @Override
  public String kind() {
    return "http";
  }

  @Override
  public String destination() {
    return destination;
  }

  @Override
  public List<Sent> send(List<Envelope> envelopes, Duration timeout) throws InterruptedException {
    Round round = new Round(envelopes, timeout);
    try {
      // A read of a socket cannot be interrupted, so it is done where nobody has to be.
      return threads.begin(round::outcomes, timeout).get();
    } catch (TimeoutException e) {
      Sent waited = unconfirmed("there was no time left to send it", e);
      return envelopes.stream().map(each -> waited).toList();
    } catch (ExecutionException e) {
      throw new IllegalStateException("the requests could not be made", e.getCause());
    } finally {
      round.end();
    }
  }

  @Override
  public void close() {
    threads.close();
  }

  /**
   * The requests of one call. Many slow answers take longer than a call may, which says nothing
   * against the other side. So once it has answered, nothing is begun that would not have its whole
   * time, or half of the call's where that is less: it is left for the next call, and nobody is to
   * blame.
   */
  private final class Round {
    private final List<Envelope> envelopes;
    private final long end;
    private final Duration enough;
    private boolean answered; // the thread that sends alone
    private volatile boolean over;
    private volatile @Nullable Post open;

    Round(List<Envelope> envelopes, Duration timeout) {
      this.envelopes = envelopes;
      this.end = System.nanoTime() + timeout.toNanos();
      this.enough = shorter(http.timeout(), timeout.dividedBy(2));
    }

    List<Sent> outcomes() {
      List<Sent> outcomes = new ArrayList<>(envelopes.size());
      for (Envelope envelope : envelopes) {
        outcomes.add(outcome(envelope));
      }
      return outcomes;
    }

    /** Nobody waits for it any more, or it is done. */
    void end() {
      over = true;
      Post post = open;
      if (post != null) {
        post.close();
      }
    }

    private Sent outcome(Envelope envelope) {
      Duration left = Duration.ofNanos(end - System.nanoTime());
      if (answered && left.compareTo(enough) < 0) {
        return new Sent.Failed(RetryLaterException.uncounted(Duration.ZERO));
      }
      if (over || left.isNegative() || left.isZero()) {
        return unconfirmed("there was no time left to send it", null);
      }
      Duration time = shorter(left, http.timeout());
      long until = System.nanoTime() + time.toNanos();
      try {
        byte[] body = envelope.body() == null ? new byte[0] : envelope.body();
        Post.Reply reply =
            http.exchange(
                id(envelope.id().orElse("")), headers(envelope), body, time, this::opened);
        answered = true;
        if (reply.status() == 404 || reply.status() == 410) {
          return new Sent.Unroutable(
              "%s answered %d. Ask there for the right address."
                  .formatted(destination, reply.status()));
        }
        http.judge(reply);
        return new Sent.Confirmed();
      } catch (RuntimeException e) {
        boolean silent =
            e instanceof InboxException failed && failed.code() == ErrorCode.EXCHANGE_FAILED;
        return silent && System.nanoTime() - until >= 0
            ? unconfirmed("it did not answer within " + time, e)
            : new Sent.Failed(e);
      }
    }

    private void opened(Post post) {
      open = post;
      if (over) { // asked after it can be seen by who ends it
        post.close();
      }
    }
  }

  private static Duration shorter(Duration one, Duration other) {
    return one.compareTo(other) < 0 ? one : other;
  }

  private Sent unconfirmed(String why, @Nullable Throwable cause) {
    return new Sent.Failed(
        new InboxException(
            ErrorCode.SEND_UNCONFIRMED,
            "%s has not confirmed it: %s. It is sent again under the same id."
                .formatted(destination, why),
            cause));
  }

  /** HTTP tells no two names apart by the size of their letters, so neither may this map. */
  private Map<String, List<String>> headers(Envelope envelope) {
    Map<String, List<String>> headers = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
    envelope
        .headers()
        .asMap()
        .forEach(
            (name, value) -> {
              if (!OutgoingHttp.sets(name)) {
                headers.put(name, lines(name, value));
              }
            });
    http.givenHeaders().forEach((name, value) -> headers.put(name, List.of(value)));
    headers.put(
        "Content-Type",
        List.of(
            envelope
                .contentType()
                .filter(mediaType -> OutgoingHttp.carries("Content-Type", mediaType))
                .orElse("application/octet-stream")));
    envelope.type().ifPresent(type -> headers.put(TYPE, List.of(id(type))));
    return headers;
  }

  /** A list has a line for each of its values. None for what HTTP cannot carry as a whole. */
  private static List<String> lines(String name, @Nullable Object value) {
    List<?> values =
        value instanceof List<?> list ? list : value == null ? List.of() : List.of(value);
    List<String> lines = new ArrayList<>(values.size());
    for (Object each : values) {
      boolean isText =
          each instanceof String
              || each instanceof Number
              || each instanceof Boolean
              || each instanceof Instant;
      if (!isText || !OutgoingHttp.carries(name, each.toString())) {
        return List.of();
      }
      lines.add(each.toString());
    }
    return lines;
  }

  /** As it is where it can be; two different ones never look alike. */
  private static String id(String text) {
    StringBuilder encoded = new StringBuilder();
    for (byte each : text.getBytes(UTF_8)) {
      if (each > ' ' && each <= '~' && each != '%') {
        encoded.append((char) each);
      } else {
        encoded.append('%').append(String.format("%02X", each & 0xFF));
      }
    }
    return encoded.toString();
  }
}
