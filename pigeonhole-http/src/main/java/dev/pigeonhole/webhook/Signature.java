package dev.pigeonhole.webhook;

import dev.pigeonhole.http.HttpCall;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * How a sender proves that a request is theirs, and where such a request has its id and its type.
 * Several secrets may be given while one takes over from another: a request needs to fit one.
 *
 * <p>The bytes of the body are checked as they came, before anybody reads them. Immutable; never
 * shows its secrets.
 */
public abstract sealed class Signature permits HmacSignature, StripeSignature, StandardSignature {

  /** Senders give two while they change a secret; hundreds would be there to keep us busy. */
  private static final int MOST_VALUES = 16;

  /** What a request calls its message; null where it says nothing. */
  record Named(@Nullable String id, @Nullable String type) {}

  Signature() {}

  /**
   * As GitHub signs: the id is {@code X-GitHub-Delivery}, the type {@code X-GitHub-Event}. Neither
   * of the two is signed, and there is no time: whoever has recorded a request can send it again,
   * and under a new id it is a new message.
   */
  public static Signature github(String secret, String... more) {
    return hmac("X-Hub-Signature-256", secret, more)
        .prefixed("sha256=")
        .idFrom("X-GitHub-Delivery")
        .typeFrom("X-GitHub-Event");
  }

  /**
   * As Stripe signs: id and type are {@code id} and {@code type} of the body, and are read only
   * after the signature has been found right.
   *
   * @param secret of the endpoint, as Stripe shows it: {@code whsec_…}
   */
  public static Signature stripe(String secret, String... more) {
    return new StripeSignature(Secrets.ofText(secret, more));
  }

  /**
   * As Standard Webhooks describes it: the id is {@code webhook-id}, the type is {@code type} of
   * the body, if that is JSON and has one.
   *
   * @param key {@code whsec_…} of a shared secret, or {@code whpk_…} of an Ed25519 public key
   */
  public static Signature standardWebhooks(String key, String... more) {
    return new StandardSignature(Stream.concat(Stream.of(key), Stream.of(more)).toList());
  }

  /**
   * HMAC-SHA-256 of the body in this header, in hexadecimal. Say with {@link HmacSignature#idFrom}
   * where the id is.
   */
  public static HmacSignature hmac(String header, String secret, String... more) {
    return new HmacSignature(header, Secrets.ofText(secret, more));
  }

  abstract Verdict judge(HttpCall call, byte[] body, Instant now, Duration tolerance);

  /** Only for what was judged genuine. */
  abstract Named name(HttpCall call, byte[] body) throws RefusedException;

  /** Whether the id is proven with the rest; then nothing that is not may stand for it. */
  abstract boolean signsId();

  /** Lower-case names of the headers that are proof and not content. */
  abstract Set<String> proofs();

  static Set<String> names(String... headers) {
    Set<String> names = new TreeSet<>();
    for (String header : headers) {
      names.add(header.toLowerCase(Locale.ROOT));
    }
    return names;
  }

  /** The header's line; null where it is not there, or there twice: nobody knows which counts. */
  static @Nullable String only(HttpCall call, String header) {
    List<String> lines = call.headers().getOrDefault(header, List.of());
    return lines.size() == 1 ? lines.get(0).strip() : null;
  }

  /** The values of all lines of a header; none where there are too many to look at. */
  static List<String> values(HttpCall call, String header, String separator) {
    List<String> values =
        call.headers().getOrDefault(header, List.of()).stream()
            .flatMap(line -> Stream.of(line.split(separator, MOST_VALUES + 1)))
            .map(String::strip)
            .filter(value -> !value.isEmpty())
            .limit(MOST_VALUES + 1)
            .toList();
    return values.size() > MOST_VALUES ? List.of() : values;
  }

  /** Takes as long for a value that is nearly right as for any other. */
  static boolean same(String expected, String given) {
    return MessageDigest.isEqual(bytes(expected), bytes(given));
  }

  static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }
}
