package dev.pigeonhole.webhook;

import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.ErrorCode;
import java.nio.ByteBuffer;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.PublicKey;
import java.security.SignatureException;
import java.security.spec.X509EncodedKeySpec;
import java.util.Base64;
import java.util.HexFormat;
import java.util.List;

/** One key of Standard Webhooks. */
sealed interface StandardKey {
  String SHARED = "whsec_";
  String PUBLIC = "whpk_";

  /** Whether one of these values is a signature that was made with it. */
  boolean made(byte[] content, List<String> values);

  /** Reads the text that the sender shows; without a prefix it is a shared secret. */
  static StandardKey of(String text) {
    if (text.startsWith(PUBLIC)) {
      return Public.of(decoded(text.substring(PUBLIC.length())));
    }
    return new Shared(Secrets.of(List.of(secret(text))));
  }

  /** The bytes of a shared secret. */
  static byte[] secret(String text) {
    return decoded(text.startsWith(SHARED) ? text.substring(SHARED.length()) : text);
  }

  /** Never shows the text: it may be a secret with a slip of the pen. */
  private static byte[] decoded(String base64) {
    try {
      return Base64.getDecoder().decode(base64);
    } catch (IllegalArgumentException e) {
      throw new ConfigurationException(
          ErrorCode.WEBHOOK_INVALID,
          "A key of Standard Webhooks is whsec_ or whpk_ and then Base64, and this one is not."
              + " Copy it as the sender shows it.");
    }
  }

  /**
   * Both sides know it.
   *
   * @param secrets one
   */
  record Shared(Secrets secrets) implements StandardKey {
    @Override
    public boolean made(byte[] content, List<String> values) {
      String expected = signature(secrets, content).get(0);
      return values.stream().anyMatch(value -> Signature.same(expected, value));
    }

    /** One value for each secret. */
    static List<String> signature(Secrets secrets, byte[] content) {
      return secrets.sign(content).stream()
          .map(mac -> "v1," + Base64.getEncoder().encodeToString(mac))
          .toList();
    }
  }

  /** The sender alone has the other half. */
  record Public(PublicKey key) implements StandardKey {
    private static final String ED25519 = "Ed25519";
    private static final String VERSION = "v1a,";
    private static final int LENGTH = 32;

    /** What stands before the 32 bytes in the form that Java reads (RFC 8410). */
    private static final byte[] FRAME = HexFormat.of().parseHex("302a300506032b6570032100");

    static Public of(byte[] raw) {
      if (raw.length != LENGTH) {
        throw new ConfigurationException(
            ErrorCode.WEBHOOK_INVALID,
            "An Ed25519 public key has %d bytes, and this one %d. Copy it as the sender shows it."
                .formatted(LENGTH, raw.length));
      }
      byte[] framed = ByteBuffer.allocate(FRAME.length + LENGTH).put(FRAME).put(raw).array();
      try {
        return new Public(
            KeyFactory.getInstance(ED25519).generatePublic(new X509EncodedKeySpec(framed)));
      } catch (GeneralSecurityException e) {
        throw new ConfigurationException(
            ErrorCode.WEBHOOK_INVALID,
            "This is no Ed25519 public key. Copy it as the sender shows it.");
      }
    }

    @Override
    public boolean made(byte[] content, List<String> values) {
      return values.stream()
          .filter(value -> value.startsWith(VERSION))
          .anyMatch(value -> verifies(content, value.substring(VERSION.length())));
    }

    private boolean verifies(byte[] content, String base64) {
      try {
        java.security.Signature ed25519 = java.security.Signature.getInstance(ED25519);
        ed25519.initVerify(key);
        ed25519.update(content);
        return ed25519.verify(Base64.getDecoder().decode(base64));
      } catch (SignatureException | IllegalArgumentException e) {
        return false; // no Base64, or not of the right length
      } catch (GeneralSecurityException e) {
        throw new IllegalStateException("Every Java has " + ED25519, e);
      }
    }
  }
}
