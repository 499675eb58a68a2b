package dev.pigeonhole.webhook;

import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.transport.Acceptor;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Locale;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Describes an address to which somebody else sends messages as signed HTTP requests.
 *
 * <pre>{@code
 * Webhook stripe =
 *     Webhook.at("/hooks/stripe")
 *         .verifiedBy(Signature.stripe(currentSecret, nextSecret))
 *         .source("stripe");
 * }</pre>
 *
 * <p>It is served by a {@link WebhookServer}, or by the web framework that you have: {@link #into}
 * gives an object that answers requests. Either way a sender is told 202 only after the message is
 * durable, for a new one and for a repeat alike.
 *
 * <p>Immutable; each step returns a new one.
 */
public final class Webhook {
  private static final Pattern PATH = Pattern.compile("(/[A-Za-z0-9._~-]+)+");
  private static final int LONGEST_PATH = 200;
  private static final int LONGEST_SOURCE = 250;
  private static final int LARGEST_BODY = 100_000_000;
  private static final Duration LONGEST_TIME = Duration.ofDays(1);

  private final Choices choices;

  private Webhook(Choices choices) {
    this.choices = choices;
  }

  /**
   * Begins with the path, such as {@code /hooks/stripe}.
   *
   * @throws ConfigurationException with {@code PH-WEB-01} if it is none
   */
  public static Webhook at(String path) {
    if (path.length() > LONGEST_PATH
        || !PATH.matcher(path).matches()
        || path.contains("/./")
        || path.contains("/../")
        || path.endsWith("/.")
        || path.endsWith("/..")) {
      throw invalid(
          "'%s' is no path of a webhook. Use something like /hooks/stripe, of up to %d characters"
              .formatted(path, LONGEST_PATH));
    }
    return new Webhook(new Choices(path));
  }

  /** How a request proves who sent it, and where it has its id and type. There is no default. */
  public Webhook verifiedBy(Signature signature) {
    Objects.requireNonNull(signature, "signature");
    return with(next -> next.signature = signature);
  }

  /**
   * Where the ids are unique: who sends here. What is given here no request can change, and it
   * replaces what an event says of itself. Default: the channel's name, or what an event says of
   * itself where the channel reads CloudEvents. Two senders need two sources, or a message of one
   * can be taken for a repeat of the other's.
   *
   * @throws ConfigurationException with {@code PH-ID-06} if messages cannot come from there
   */
  public Webhook source(String source) {
    if (source.isBlank()
        || source.codePointCount(0, source.length()) > LONGEST_SOURCE
        || source.chars().anyMatch(Character::isISOControl)) {
      throw new ConfigurationException(
          ErrorCode.SOURCE_INVALID,
          "The source of webhook %s is not usable: 1 to %d characters, no control characters."
              .formatted(choices.path, LONGEST_SOURCE));
    }
    return with(
        next -> {
          next.source = source;
          next.sourceFromMessage = false;
        });
  }

  /**
   * Each message names its own source, as CloudEvents do, and the channel's mapper reads it; one
   * that names none is refused with {@code PH-ID-06}. Whoever can sign may claim to be any source.
   * Takes the place of {@link #source}, and the other way round.
   */
  public Webhook sourceFromMessage() {
    return with(
        next -> {
          next.source = null;
          next.sourceFromMessage = true;
        });
  }

  /** The type of requests that name none. Default: they are refused with {@code PH-KEY-11}. */
  public Webhook type(String name) {
    Objects.requireNonNull(name, "name");
    return with(next -> next.type = name);
  }

  /**
   * How many bytes a body may have, as it comes and after it was unpacked. Default 1,000,000.
   *
   * @throws ConfigurationException with {@code PH-CFG-05} unless it is 1 to 100,000,000
   */
  public Webhook maxBody(int bytes) {
    if (bytes < 1 || bytes > LARGEST_BODY) {
      throw outOfRange("maxBody", bytes + "", "1 to 100,000,000");
    }
    return with(next -> next.maxBody = bytes);
  }

  /** The media types that are taken, instead of {@code application/json} alone. */
  public Webhook contentTypes(String first, String... more) {
    Set<String> types = new TreeSet<>();
    types.add(first.toLowerCase(Locale.ROOT));
    for (String type : more) {
      types.add(type.toLowerCase(Locale.ROOT));
    }
    return with(next -> next.contentTypes = types);
  }

  /**
   * How far the signed time may be from now, to either side. Default 5 minutes; without a signed
   * time it has no meaning.
   *
   * @throws ConfigurationException with {@code PH-CFG-05} unless it is up to a day
   */
  public Webhook tolerance(Duration most) {
    return with(next -> next.tolerance = checked("tolerance", most, LONGEST_TIME));
  }

  /**
   * When a sender is asked to come again if the message cannot be taken now. Default 30 seconds.
   *
   * @throws ConfigurationException with {@code PH-CFG-05} unless it is up to a day
   */
  public Webhook retryAfter(Duration time) {
    return with(next -> next.retryAfter = checked("retryAfter", time, LONGEST_TIME));
  }

  /**
   * For how long the sender repeats what was not taken, such as 3 days. An inbox that forgets
   * messages earlier warns when a {@link WebhookServer} is started with it. Default: nobody knows.
   *
   * @throws ConfigurationException with {@code PH-CFG-05} unless it is up to 365 days
   */
  public Webhook repeatedFor(Duration time) {
    return with(next -> next.repeatedFor = checked("repeatedFor", time, Duration.ofDays(365)));
  }

  /** What time it is; for tests. Default: the clock of the system. */
  public Webhook clock(InstantSource clock) {
    Objects.requireNonNull(clock, "clock");
    return with(next -> next.clock = clock);
  }

  /**
   * Answers requests whose messages go into a channel of this inbox, which need not be running.
   *
   * @throws ConfigurationException with {@code PH-WEB-01} without a signature
   * @throws dev.pigeonhole.InboxException with {@code PH-CFG-17} if the inbox has no such channel
   */
  public WebhookEndpoint into(Inbox inbox, String channel) {
    return into(inbox.acceptor(channel));
  }

  /** The same for whatever else takes messages. */
  public WebhookEndpoint into(Acceptor acceptor) {
    Signature signature = choices.signature;
    if (signature == null) {
      throw invalid(
          "Webhook %s has no signature, so everybody could send to it. Add .verifiedBy(…)"
              .formatted(choices.path));
    }
    return new WebhookEndpoint(choices, signature, acceptor);
  }

  String path() {
    return choices.path;
  }

  /** Whether the name of the channel may have to stand for whoever sends here. */
  boolean isNameless() {
    return choices.source == null && !choices.sourceFromMessage;
  }

  Optional<Duration> repeatedFor() {
    return Optional.ofNullable(choices.repeatedFor);
  }

  private Webhook with(Consumer<Choices> change) {
    Choices next = new Choices(choices);
    change.accept(next);
    return new Webhook(next);
  }

  private Duration checked(String option, Duration time, Duration longest) {
    if (time.isZero() || time.isNegative() || time.compareTo(longest) > 0) {
      throw outOfRange(option, time.toString(), "above zero to " + longest);
    }
    return time;
  }

  private ConfigurationException outOfRange(String option, String value, String range) {
    return new ConfigurationException(
        ErrorCode.RANGE_INVALID,
        "%s of webhook %s is %s; it goes from %s. Choose a value inside."
            .formatted(option, choices.path, value, range));
  }

  private static ConfigurationException invalid(String text) {
    return new ConfigurationException(ErrorCode.WEBHOOK_INVALID, text + ".");
  }

  /** Without the secrets. */
  @Override
  public String toString() {
    return "Webhook " + choices.path;
  }

  /** Changed only while one step makes its copy. */
  static final class Choices {
    final String path;
    @Nullable Signature signature;
    @Nullable String source;
    boolean sourceFromMessage;
    @Nullable String type;
    int maxBody = 1_000_000;
    Set<String> contentTypes = Set.of("application/json");
    Duration tolerance = Duration.ofMinutes(5);
    Duration retryAfter = Duration.ofSeconds(30);
    @Nullable Duration repeatedFor;
    InstantSource clock = InstantSource.system();

    Choices(String path) {
      this.path = path;
    }

    Choices(Choices from) {
      path = from.path;
      signature = from.signature;
      source = from.source;
      sourceFromMessage = from.sourceFromMessage;
      type = from.type;
      maxBody = from.maxBody;
      contentTypes = from.contentTypes;
      tolerance = from.tolerance;
      retryAfter = from.retryAfter;
      repeatedFor = from.repeatedFor;
      clock = from.clock;
    }
  }
}
