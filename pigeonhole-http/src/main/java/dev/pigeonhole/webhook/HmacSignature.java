package dev.pigeonhole.webhook;

import dev.pigeonhole.http.HttpCall;
import java.time.Duration;
import java.time.Instant;
import java.util.Base64;
import java.util.HexFormat;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A signature that many senders use, each a little differently: HMAC-SHA-256 over the body, in a
 * header. Immutable; each step returns a new one.
 */
public final class HmacSignature extends Signature {
  private final Choices choices;

  HmacSignature(String header, Secrets secrets) {
    this(new Choices(header, secrets));
  }

  private HmacSignature(Choices choices) {
    this.choices = choices;
  }

  /** The header has it in Base64 instead of hexadecimal. */
  public HmacSignature base64() {
    return with(next -> next.base64 = true);
  }

  /** What stands before each value in the header, such as {@code sha256=}. */
  public HmacSignature prefixed(String prefix) {
    Objects.requireNonNull(prefix, "prefix");
    return with(next -> next.prefix = prefix);
  }

  /**
   * The header with the time of signing, in seconds since 1970. It is signed, too: the signature is
   * over the time, a dot and the body. Without it a recorded request is never too old.
   */
  public HmacSignature timestampFrom(String header) {
    Objects.requireNonNull(header, "header");
    return with(next -> next.timeHeader = header);
  }

  /**
   * The header with the id. It is not signed: whoever has recorded a request can send it again
   * under another id. Without it messages have no id, and the channel's {@link
   * dev.pigeonhole.OnMissingId} decides.
   */
  public HmacSignature idFrom(String header) {
    Objects.requireNonNull(header, "header");
    return with(next -> next.idHeader = header);
  }

  /** The header with the type; without it, {@link Webhook#type}. */
  public HmacSignature typeFrom(String header) {
    Objects.requireNonNull(header, "header");
    return with(next -> next.typeHeader = header);
  }

  private HmacSignature with(Consumer<Choices> change) {
    Choices next = new Choices(choices);
    change.accept(next);
    return new HmacSignature(next);
  }

  @Override
  Verdict judge(HttpCall call, byte[] body, Instant now, Duration tolerance) {
    String time = line(call, choices.timeHeader);
    if (choices.timeHeader != null && time == null) {
      return Verdict.WRONG;
    }
    byte[] before = time == null ? new byte[0] : bytes(time + ".");
    List<String> given = values(call, choices.header, ",");
    for (byte[] mac : choices.secrets.sign(before, body)) {
      String expected =
          choices.prefix
              + (choices.base64
                  ? Base64.getEncoder().encodeToString(mac)
                  : HexFormat.of().formatHex(mac));
      if (given.stream().anyMatch(value -> same(expected, value))) {
        return time == null ? Verdict.GENUINE : Verdict.at(time, now, tolerance);
      }
    }
    return Verdict.WRONG;
  }

  @Override
  Named name(HttpCall call, byte[] body) {
    return new Named(line(call, choices.idHeader), line(call, choices.typeHeader));
  }

  private static @Nullable String line(HttpCall call, @Nullable String header) {
    return header == null ? null : only(call, header);
  }

  @Override
  boolean signsId() {
    return false;
  }

  @Override
  Set<String> proofs() {
    return names(choices.header);
  }

  /** Without the secrets. */
  @Override
  public String toString() {
    return "HMAC-SHA-256 in " + choices.header;
  }

  /** Changed only while one step makes its copy. */
  private static final class Choices {
    final String header;
    final Secrets secrets;
    boolean base64;
    String prefix = "";
    @Nullable String timeHeader;
    @Nullable String idHeader;
    @Nullable String typeHeader;

    Choices(String header, Secrets secrets) {
      this.header = Objects.requireNonNull(header, "header");
      this.secrets = secrets;
    }

    Choices(Choices from) {
      header = from.header;
      secrets = from.secrets;
      base64 = from.base64;
      prefix = from.prefix;
      timeHeader = from.timeHeader;
      idHeader = from.idHeader;
      typeHeader = from.typeHeader;
    }
  }
}
