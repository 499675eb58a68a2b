package dev.pigeonhole.webhook;

import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.transport.Acceptor;
import dev.pigeonhole.transport.MessageSource;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Collections;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Serves webhooks of one channel with the HTTP server of the JDK, started and stopped by the inbox.
 *
 * <pre>{@code
 * Inbox.on(store).channel(payments, WebhookServer.onPort(8080).serving(stripe)).build()
 * }</pre>
 *
 * <p>While the inbox is paused, and from its stop on, requests are answered 503 with {@code
 * Retry-After}. It speaks HTTP/1.1 without TLS: let a proxy stand before it.
 *
 * <p>Each step returns a new server, none of them started.
 */
public final class WebhookServer implements MessageSource {
  private static final int MOST_THREADS = 1_000;
  private static final Duration LONGEST_READ = Duration.ofMinutes(10);

  private final InetSocketAddress address;
  private final Map<String, Webhook> webhooks;
  private final int threads;
  private final Duration readWithin;
  private final Cut.Timer timer;

  private volatile Map<String, WebhookEndpoint> endpoints = Map.of();
  private volatile @Nullable Listener listener; // set and cleared by one thread at a time

  private WebhookServer(
      InetSocketAddress address,
      Map<String, Webhook> webhooks,
      int threads,
      Duration readWithin,
      Cut.Timer timer) {
    this.address = address;
    this.webhooks = webhooks;
    this.threads = threads;
    this.readWithin = readWithin;
    this.timer = timer;
  }

  /** Listens on this port of the machine itself; 0 for any that is free. */
  public static WebhookServer onPort(int port) {
    return on(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
  }

  /** Listens where others can reach it. */
  public static WebhookServer on(InetSocketAddress address) {
    return new WebhookServer(address, Map.of(), 8, Duration.ofSeconds(10), Cut.Timer.REAL);
  }

  /**
   * Serves this webhook, too. One of them may have neither {@link Webhook#source} nor {@link
   * Webhook#sourceFromMessage}; two of those would share their ids.
   *
   * @throws ConfigurationException with {@code PH-WEB-01} if its path is taken, or if it is the
   *     second that says nothing of its source
   */
  public WebhookServer serving(Webhook webhook) {
    Map<String, Webhook> more = new LinkedHashMap<>(webhooks);
    if (more.put(webhook.path(), webhook) != null) {
      throw new ConfigurationException(
          ErrorCode.WEBHOOK_INVALID,
          "Two webhooks are at %s. Give one of them another path.".formatted(webhook.path()));
    }
    List<String> nameless =
        more.values().stream().filter(Webhook::isNameless).map(Webhook::path).toList();
    if (nameless.size() > 1) {
      throw new ConfigurationException(
          ErrorCode.WEBHOOK_INVALID,
          ("The webhooks %s have no source, so their senders would share one, and a message of the"
                  + " second could be taken for a repeat. Say .source(…) of all but one of them; or"
                  + " .sourceFromMessage() where messages name their own, as CloudEvents do, which"
                  + " .source(…) would replace.")
              .formatted(String.join(" and ", nameless)));
    }
    return new WebhookServer(
        address, Collections.unmodifiableMap(more), threads, readWithin, timer);
  }

  /**
   * How many requests are answered at the same time. Default 8. As many commits may then be asked
   * of the store at once, and they share.
   *
   * @throws ConfigurationException with {@code PH-CFG-05} unless it is 1 to 1,000
   */
  public WebhookServer threads(int threads) {
    if (threads < 1 || threads > MOST_THREADS) {
      throw outOfRange("threads", threads + "", "1 to 1,000");
    }
    return new WebhookServer(address, webhooks, threads, readWithin, timer);
  }

  /**
   * How long the head of a request may take to arrive, and its body once more. Default 10 seconds.
   *
   * @throws ConfigurationException with {@code PH-CFG-05} unless it is up to 10 minutes
   */
  public WebhookServer readWithin(Duration time) {
    if (time.isZero() || time.isNegative() || time.compareTo(LONGEST_READ) > 0) {
      throw outOfRange("readWithin", time.toString(), "above zero to 10 minutes");
    }
    return new WebhookServer(address, webhooks, threads, time, timer);
  }

  /** Who says that a time is over; for tests. */
  WebhookServer timer(Cut.Timer timer) {
    return new WebhookServer(address, webhooks, threads, readWithin, timer);
  }

  private static ConfigurationException outOfRange(String option, String value, String range) {
    return new ConfigurationException(
        ErrorCode.RANGE_INVALID,
        "%s of a webhook server is %s; it goes from %s. Choose a value inside."
            .formatted(option, value, range));
  }

  /**
   * Where it listens.
   *
   * @throws IllegalStateException if it does not
   */
  public int port() {
    Listener running = listener;
    if (running == null) {
      throw new IllegalStateException("%s is not started".formatted(name()));
    }
    return running.port();
  }

  /** How many requests to this path could not prove who sent them, since the last start. */
  public long unverified(String path) {
    WebhookEndpoint endpoint = endpoints.get(path);
    return endpoint == null ? 0 : endpoint.unverified();
  }

  @Override
  public String name() {
    return "http:" + String.join(",", webhooks.keySet());
  }

  /** The longest of {@link Webhook#repeatedFor}. */
  @Override
  public Optional<Duration> repeatHorizon() {
    return webhooks.values().stream()
        .flatMap(webhook -> webhook.repeatedFor().stream())
        .max(Comparator.naturalOrder());
  }

  /**
   * Begins to listen.
   *
   * @throws ConfigurationException with {@code PH-WEB-01} without webhooks, or if one has no
   *     signature
   * @throws InboxException with {@code PH-WEB-01} if the address cannot be had
   */
  @Override
  public void start(Acceptor acceptor) {
    if (webhooks.isEmpty()) {
      throw new ConfigurationException(
          ErrorCode.WEBHOOK_INVALID,
          "A webhook server has nothing to serve. Add .serving(Webhook.at(…)).");
    }
    Map<String, WebhookEndpoint> all = new LinkedHashMap<>();
    webhooks.forEach((path, webhook) -> all.put(path, webhook.into(acceptor)));
    try {
      listener = new Listener(address, all, threads, readWithin, timer);
    } catch (IOException e) {
      throw new InboxException(
          ErrorCode.WEBHOOK_INVALID,
          "%s cannot listen on %s. Is the port taken? Free it, or choose another."
              .formatted(name(), address),
          e);
    }
    endpoints = all;
  }

  @Override
  public void pause(String reason) {
    Listener running = listener;
    if (running != null) {
      running.gate().close();
    }
  }

  @Override
  public void resume() {
    Listener running = listener;
    if (running != null) {
      running.gate().open();
    }
  }

  @Override
  public void stop(Duration patience) {
    Listener running = listener;
    listener = null;
    if (running != null) {
      running.stop(patience);
    }
  }
}
