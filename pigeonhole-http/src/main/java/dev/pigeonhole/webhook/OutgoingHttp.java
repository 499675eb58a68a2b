package dev.pigeonhole.webhook;

import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.MessageHandler;
import dev.pigeonhole.PoisonException;
import dev.pigeonhole.Received;
import dev.pigeonhole.RetryLaterException;
import dev.pigeonhole.transport.Transport;
import java.io.IOException;
import java.net.InetAddress;
import java.net.URI;
import java.time.Duration;
import java.time.InstantSource;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.net.ssl.SSLSocketFactory;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Sends messages on to somebody else, as signed POST requests in the form of Standard Webhooks.
 *
 * <pre>{@code
 * OutgoingHttp partner =
 *     OutgoingHttp.post(URI.create("https://partner.example/hooks")).signedWith(secret);
 *
 * Channel.named("orders")
 *     .on(OrderPlaced.class)
 *     .handleMessage("notify-partner", order -> partner.send(order, json(order.payload())))
 * }</pre>
 *
 * <p>{@code webhook-id} is the delivery's idempotency key, the same on every attempt, so the other
 * side can tell a repeat. An answer of 2xx completes the delivery. 408, 429 and 5xx fail the
 * attempt, and a {@code Retry-After} is kept to, up to an hour; other 4xx poison the delivery. The
 * body of the answer is not read.
 *
 * <p>The address may come from a customer, so it is not trusted: https only, no redirects, no
 * proxies, and every address that the host has must be a public one. The host is resolved once, and
 * what was checked is what is connected to.
 *
 * <p>Immutable; each step returns a new one. Safe for many threads.
 */
public final class OutgoingHttp implements MessageHandler<byte[]> {
  private static final Logger LOG = LoggerFactory.getLogger(OutgoingHttp.class);
  private static final Pattern NAME = Pattern.compile("[A-Za-z0-9!#$%&'*+.^_`|~-]{1,200}");
  private static final Pattern VALUE = Pattern.compile("[\\x20-\\x7E]*");
  private static final Duration LONGEST_TIMEOUT = Duration.ofMinutes(10);
  private static final Set<String> OWN =
      Set.of(
          "connection",
          "content-length",
          "content-type",
          "host",
          "transfer-encoding",
          StandardSignature.ID,
          StandardSignature.TIME,
          StandardSignature.SIGNATURE);

  private final Choices choices;
  private final @Nullable Target target;

  private OutgoingHttp(Choices choices) {
    this.choices = choices;
    URI uri = choices.uri;
    this.target =
        uri == null ? null : Target.of(uri, choices.http, choices.privateAddresses, choices.ports);
  }

  /** Sends nowhere yet: say first what is allowed, and then where {@link #to}. */
  public static OutgoingHttp create() {
    return new OutgoingHttp(new Choices());
  }

  /**
   * Sends to this address; the same as {@code create().to(address)}.
   *
   * @throws ConfigurationException with {@code PH-WEB-05} or {@code PH-WEB-06} if it is refused
   */
  public static OutgoingHttp post(URI address) {
    return create().to(address);
  }

  /**
   * The same to another address, such as one that a customer has registered.
   *
   * @throws ConfigurationException with {@code PH-WEB-05} or {@code PH-WEB-06} if it is refused
   */
  public OutgoingHttp to(URI address) {
    Objects.requireNonNull(address, "address");
    return with(next -> next.uri = address);
  }

  /**
   * Signs with a secret of Standard Webhooks, {@code whsec_…}; with several, once with each, so
   * that the other side can change from one to the next. Default: not signed.
   */
  public OutgoingHttp signedWith(String secret, String... more) {
    Secrets secrets =
        Secrets.of(
            Stream.concat(Stream.of(secret), Stream.of(more)).map(StandardKey::secret).toList());
    return with(next -> next.secrets = secrets);
  }

  /** The media type of what is sent. Default {@code application/json}. */
  public OutgoingHttp contentType(String mediaType) {
    check("Content-Type", mediaType);
    return with(next -> next.contentType = mediaType);
  }

  /**
   * One more header of every request, such as {@code Authorization}.
   *
   * @throws ConfigurationException with {@code PH-WEB-01} if it cannot be sent, or is set already
   */
  public OutgoingHttp header(String name, String value) {
    check(name, value);
    if (sets(name)) {
      throw invalid("The header %s is set by the request itself. Leave it out".formatted(name));
    }
    Map<String, String> more = new LinkedHashMap<>(choices.headers);
    more.put(name, value);
    return with(next -> next.headers = more);
  }

  /**
   * How long a request may take, from connecting to the head of the answer. Default 10 seconds; the
   * time that the handler has left, if that is less. Looking up the host's name is not counted.
   *
   * @throws ConfigurationException with {@code PH-CFG-05} unless it is up to 10 minutes
   */
  public OutgoingHttp timeout(Duration time) {
    if (time.isZero() || time.isNegative() || time.compareTo(LONGEST_TIMEOUT) > 0) {
      throw new ConfigurationException(
          ErrorCode.RANGE_INVALID,
          "timeout of an outgoing request is %s; it goes from above zero to 10 minutes."
                  .formatted(time)
              + " Choose a value inside.");
    }
    return with(next -> next.timeout = time);
  }

  /** Allows these ports beside 443. */
  public OutgoingHttp allowPorts(int first, int... more) {
    Set<Integer> ports = new TreeSet<>(choices.ports);
    ports.add(first);
    for (int port : more) {
      ports.add(port);
    }
    return with(next -> next.ports = ports);
  }

  /** Who is trusted, and who we are, in TLS. Default: what Java trusts. */
  public OutgoingHttp tls(SSLSocketFactory factory) {
    Objects.requireNonNull(factory, "factory");
    return with(next -> next.tls = factory);
  }

  /** Allows http on port 80: everybody on the way can read and change what is sent. */
  public OutgoingHttp unsafeAllowHttp() {
    LOG.warn("Outgoing requests may go by http, which everybody on the way can read (unsafe)");
    return with(next -> next.http = true);
  }

  /**
   * Allows addresses of your own network and of this machine. Never with an address that somebody
   * else has chosen: it could be that of a service that trusts your network.
   */
  public OutgoingHttp unsafeAllowPrivateAddresses() {
    LOG.warn("Outgoing requests may go to addresses that are not public (unsafe)");
    return with(next -> next.privateAddresses = true);
  }

  /** What time it is; for tests. Default: the clock of the system. */
  public OutgoingHttp clock(InstantSource clock) {
    Objects.requireNonNull(clock, "clock");
    return with(next -> next.clock = clock);
  }

  OutgoingHttp resolver(AddressGuard.Resolver resolver) {
    return with(next -> next.resolver = resolver);
  }

  /** Sends the content of the message as it is. */
  @Override
  public void handle(Received<byte[]> received) {
    byte @Nullable [] content = received.payload();
    send(received, content == null ? new byte[0] : content);
  }

  /**
   * Sends this for a delivery; returns when the other side has taken it.
   *
   * @throws InboxException if it has not, with {@code PH-WEB-06}, {@code PH-WEB-07} or {@code
   *     PH-WEB-10}
   * @throws RetryLaterException if it said when to come again
   * @throws PoisonException if it will never take it
   */
  public void send(Received<?> received, byte[] body) {
    Duration time =
        received.timeLeft().filter(it -> it.compareTo(choices.timeout) < 0).orElse(choices.timeout);
    Map<String, List<String>> headers = new LinkedHashMap<>();
    choices.headers.forEach((name, value) -> headers.put(name, List.of(value)));
    headers.put("Content-Type", List.of(choices.contentType));
    judge(exchange(received.idempotencyKey(), headers, body, time, post -> {}));
  }

  /**
   * This as a transport, for an outbox: {@code webhook-id} is the id of the message,
   * percent-encoded where it has other characters than visible ones of ASCII, {@code webhook-type}
   * its type, and headers of the message are headers of the request, as far as HTTP can carry them:
   * a list has a line for each value; bytes, maps and other text than printable ASCII are left out.
   * An answer of 404 or 410 means that nobody takes it.
   *
   * @throws IllegalStateException if it has no address yet
   */
  public Transport transport() {
    return new HttpTransport(this, required().toString());
  }

  /** What every request has; never changed. */
  Map<String, String> givenHeaders() {
    return choices.headers;
  }

  Duration timeout() {
    return choices.timeout;
  }

  /** Whether the request itself sets such a header. */
  static boolean sets(String header) {
    return OWN.contains(header.toLowerCase(Locale.ROOT));
  }

  /** Whether HTTP can carry it. */
  static boolean carries(String name, String value) {
    return NAME.matcher(name).matches() && VALUE.matcher(value).matches();
  }

  private Target required() {
    Target known = target;
    if (known == null) {
      throw new IllegalStateException("It has no address. Say where with .to(…).");
    }
    return known;
  }

  /**
   * @param headers which the signed ones are added to
   * @param opened is given what has to be closed to end it early
   */
  Post.Reply exchange(
      String id,
      Map<String, List<String>> headers,
      byte[] body,
      Duration time,
      Consumer<Post> opened) {
    Target to = required();
    List<InetAddress> addresses =
        new AddressGuard(choices.resolver, choices.privateAddresses).resolve(to);
    sign(headers, id, body);
    try (Post post = new Post(to, choices.tls, time)) {
      opened.accept(post);
      return post.send(addresses, headers, body);
    } catch (IOException e) {
      throw new InboxException(
          ErrorCode.EXCHANGE_FAILED,
          "There is no answer from %s: %s, after %s at most. It is tried again."
              .formatted(to, e.getClass().getSimpleName(), time),
          e);
    }
  }

  private void sign(Map<String, List<String>> headers, String id, byte[] body) {
    String time = Long.toString(choices.clock.instant().getEpochSecond());
    headers.put(StandardSignature.ID, List.of(id));
    headers.put(StandardSignature.TIME, List.of(time));
    Secrets secrets = choices.secrets;
    if (secrets != null) {
      byte[] content = StandardSignature.content(id, time, body);
      headers.put(
          StandardSignature.SIGNATURE,
          List.of(String.join(" ", StandardKey.Shared.signature(secrets, content))));
    }
  }

  /** Returns if the other side has taken it. */
  void judge(Post.Reply reply) {
    Target target = required();
    int status = reply.status();
    if (status >= 200 && status < 300) {
      return;
    }
    if (status >= 300 && status < 400) {
      throw new InboxException(
          ErrorCode.REDIRECTED,
          "%s answered %d and wants the request elsewhere. Redirects are not followed: look at where"
                  .formatted(target, status)
              + " it points to, and change the address.");
    }
    if (status >= 400 && status < 500 && status != 408 && status != 429) {
      throw new PoisonException(
          "%s answered %d: it will not take this request. Ask there what is wrong with it."
              .formatted(target, status));
    }
    InboxException failed =
        new InboxException(
            ErrorCode.EXCHANGE_FAILED,
            "%s answered %d. It is tried again.".formatted(target, status));
    Duration wait = reply.retryAfter(choices.clock.instant());
    if (wait == null) {
      throw failed;
    }
    RetryLaterException later = RetryLaterException.after(wait);
    later.addSuppressed(failed); // it has no text of its own
    throw later;
  }

  private static void check(String name, String value) {
    if (!carries(name, value)) {
      throw invalid(
          ("The header %s cannot be sent. Use letters and digits for its name, printable ASCII for"
                  + " its value")
              .formatted(NAME.matcher(name).matches() ? name : "with the odd name"));
    }
  }

  private static ConfigurationException invalid(String text) {
    return new ConfigurationException(ErrorCode.WEBHOOK_INVALID, text + ".");
  }

  private OutgoingHttp with(Consumer<Choices> change) {
    Choices next = new Choices(choices);
    change.accept(next);
    return new OutgoingHttp(next);
  }

  /** Without path and secrets: many addresses are secret themselves. */
  @Override
  public String toString() {
    return "POST to " + target;
  }

  /** Changed only while one step makes its copy. */
  private static final class Choices {
    @Nullable URI uri;
    @Nullable Secrets secrets;
    String contentType = "application/json";
    Map<String, String> headers = Map.of();
    Duration timeout = Duration.ofSeconds(10);
    Set<Integer> ports = Set.of(443);
    SSLSocketFactory tls = (SSLSocketFactory) SSLSocketFactory.getDefault();
    boolean http;
    boolean privateAddresses;
    InstantSource clock = InstantSource.system();
    AddressGuard.Resolver resolver = InetAddress::getAllByName;

    Choices() {}

    Choices(Choices from) {
      uri = from.uri;
      secrets = from.secrets;
      contentType = from.contentType;
      headers = from.headers;
      timeout = from.timeout;
      ports = from.ports;
      tls = from.tls;
      http = from.http;
      privateAddresses = from.privateAddresses;
      clock = from.clock;
      resolver = from.resolver;
    }
  }
}
