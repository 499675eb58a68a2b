package dev.pigeonhole.webhook;

import dev.pigeonhole.http.HttpCall;
import java.time.Duration;
import java.time.Instant;
import java.util.Base64;
import java.util.HexFormat;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A signature that many senders use, each a little differently: HMAC-SHA-256 over the body, in a
 * header. Immutable; each step returns a new one.
 */
public final class HmacSignature extends Signature {
  private final String header;
  private final Secrets secrets;
  private final boolean base64;
  private final String prefix;
  private final @Nullable String timeHeader;
  private final @Nullable String idHeader;
  private final @Nullable String typeHeader;

  HmacSignature(String header, Secrets secrets) {
    this(header, secrets, false, "", null, null, null);
  }

  private HmacSignature(
      String header,
      Secrets secrets,
      boolean base64,
      String prefix,
      @Nullable String timeHeader,
      @Nullable String idHeader,
      @Nullable String typeHeader) {
    this.header = Objects.requireNonNull(header, "header");
    this.secrets = secrets;
    this.base64 = base64;
    this.prefix = prefix;
    this.timeHeader = timeHeader;
    this.idHeader = idHeader;
    this.typeHeader = typeHeader;
  }

  /** The header has it in Base64 instead of hexadecimal. */
  public HmacSignature base64() {
    return new HmacSignature(header, secrets, true, prefix, timeHeader, idHeader, typeHeader);
  }

  /** What stands before each value in the header, such as {@code sha256=}. */
  public HmacSignature prefixed(String prefix) {
    return new HmacSignature(
        header,
        secrets,
        base64,
        Objects.requireNonNull(prefix, "prefix"),
        timeHeader,
        idHeader,
        typeHeader);
  }

  /**
   * The header with the time of signing, in seconds since 1970. It is signed, too: the signature is
   * over the time, a dot and the body. Without it a recorded request is never too old.
   */
  public HmacSignature timestampFrom(String header) {
    return new HmacSignature(
        this.header,
        secrets,
        base64,
        prefix,
        Objects.requireNonNull(header, "header"),
        idHeader,
        typeHeader);
  }

  /**
   * The header with the id. It is not signed: whoever has recorded a request can send it again
   * under another id. Without it messages have no id, and the channel's {@link
   * dev.pigeonhole.OnMissingId} decides.
   */
  public HmacSignature idFrom(String header) {
    return new HmacSignature(
        this.header,
        secrets,
        base64,
        prefix,
        timeHeader,
        Objects.requireNonNull(header, "header"),
        typeHeader);
  }

  /** The header with the type; without it, {@link Webhook#type}. */
  public HmacSignature typeFrom(String header) {
    return new HmacSignature(
        this.header,
        secrets,
        base64,
        prefix,
        timeHeader,
        idHeader,
        Objects.requireNonNull(header, "header"));
  }

  @Override
  Verdict judge(HttpCall call, byte[] body, Instant now, Duration tolerance) {
    String time = timeHeader == null ? null : only(call, timeHeader);
    if (timeHeader != null && time == null) {
      return Verdict.WRONG;
    }
    byte[] before = time == null ? new byte[0] : bytes(time + ".");
    List<String> given = values(call, header, ",");
    for (byte[] mac : secrets.sign(before, body)) {
      String expected =
          prefix
              + (base64 ? Base64.getEncoder().encodeToString(mac) : HexFormat.of().formatHex(mac));
      if (given.stream().anyMatch(value -> same(expected, value))) {
        return time == null ? Verdict.GENUINE : Verdict.at(time, now, tolerance);
      }
    }
    return Verdict.WRONG;
  }

  @Override
  Named name(HttpCall call, byte[] body) {
    return new Named(
        idHeader == null ? null : only(call, idHeader),
        typeHeader == null ? null : only(call, typeHeader));
  }

  @Override
  boolean signsId() {
    return false;
  }

  @Override
  Set<String> proofs() {
    return names(header);
  }

  /** Without the secrets. */
  @Override
  public String toString() {
    return "HMAC-SHA-256 in " + header;
  }
}
