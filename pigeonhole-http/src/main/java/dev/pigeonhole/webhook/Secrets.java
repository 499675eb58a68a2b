package dev.pigeonhole.webhook;

import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.ErrorCode;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/** The secrets that both sides know, of which any will do: so one can take over from another. */
final class Secrets {
  private static final String HMAC = "HmacSHA256";
  private static final int SHORTEST = 16;

  private final List<SecretKeySpec> keys;

  private Secrets(List<SecretKeySpec> keys) {
    this.keys = List.copyOf(keys);
  }

  /** The characters themselves are the secret, prefixes such as {@code whsec_} included. */
  static Secrets ofText(String secret, String... more) {
    return of(
        Stream.concat(Stream.of(secret), Stream.of(more))
            .map(text -> text.getBytes(StandardCharsets.UTF_8))
            .toList());
  }

  static Secrets of(List<byte[]> secrets) {
    List<SecretKeySpec> keys = new ArrayList<>();
    for (byte[] secret : secrets) {
      if (secret.length < SHORTEST) {
        throw new ConfigurationException(
            ErrorCode.WEBHOOK_INVALID,
            ("A secret of a signature has %d bytes; who knows a message could find it by trying."
                    + " Use one of %d or more that was drawn at random.")
                .formatted(secret.length, SHORTEST));
      }
      keys.add(new SecretKeySpec(secret, HMAC));
    }
    return new Secrets(keys);
  }

  /** HMAC-SHA-256 over the parts, one for each secret. */
  List<byte[]> sign(byte[]... parts) {
    List<byte[]> signatures = new ArrayList<>(keys.size());
    try {
      for (SecretKeySpec key : keys) {
        Mac mac = Mac.getInstance(HMAC);
        mac.init(key);
        for (byte[] part : parts) {
          mac.update(part);
        }
        signatures.add(mac.doFinal());
      }
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException("Every Java has " + HMAC, e);
    }
    return signatures;
  }

  /** Without the secrets. */
  @Override
  public String toString() {
    return keys.size() + " secrets";
  }
}
