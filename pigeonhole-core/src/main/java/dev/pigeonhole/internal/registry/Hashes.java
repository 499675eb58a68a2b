package dev.pigeonhole.internal.registry;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * The hashes that are part of the stored format. They must never change: a message's lane and key
 * hash are computed by every version that accepts, and compared with those of every other.
 */
public final class Hashes {
  private static final long FNV_OFFSET = 0xcbf29ce484222325L;
  private static final long FNV_PRIME = 0x100000001b3L;
  private static final MessageDigest SHA_256 = newSha256(); // never fed itself

  private Hashes() {}

  /** The lane of a message: of its ordering key, or else of its identity. */
  public static int lane(long hash, int lanes) {
    return (int) Long.remainderUnsigned(hash, lanes);
  }

  /** The hash of an ordering key. */
  public static long key(String orderingKey) {
    return mix(fnv(FNV_OFFSET, orderingKey.getBytes(StandardCharsets.UTF_8)));
  }

  /** What stands for a transport's key that is too long to be an ordering key itself. */
  public static String longKey(byte[] key) {
    return "sha-256:" + HexFormat.of().formatHex(sha256().digest(key));
  }

  /** The hash of an identity. Each part is closed, so that ("a","bc") is not ("ab","c"). */
  public static long identity(String source, String id) {
    long hash = fnv(FNV_OFFSET, source.getBytes(StandardCharsets.UTF_8));
    hash = (hash ^ 0xff) * FNV_PRIME; // 0xff never occurs in UTF-8
    return mix(fnv(hash, id.getBytes(StandardCharsets.UTF_8)));
  }

  /** 16 bytes over media type and content; a missing body differs from an empty one. */
  public static byte[] content(String contentType, byte @Nullable [] content) {
    MessageDigest digest = sha256();
    byte[] type = contentType.getBytes(StandardCharsets.UTF_8);
    digest.update(
        ByteBuffer.allocate(5).putInt(type.length).put((byte) (content == null ? 0 : 1)).array());
    digest.update(type);
    if (content != null) {
      digest.update(content);
    }
    return Arrays.copyOf(digest.digest(), 16);
  }

  /** A name for (message, handler) that outside systems can take for a UUID. */
  public static String idempotencyKey(String source, String id, String handler) {
    MessageDigest digest = sha256();
    for (String part : new String[] {source, id, handler}) {
      byte[] bytes = part.getBytes(StandardCharsets.UTF_8);
      digest.update(ByteBuffer.allocate(4).putInt(bytes.length).array());
      digest.update(bytes);
    }
    ByteBuffer hash = ByteBuffer.wrap(digest.digest());
    long high = (hash.getLong() & 0xffffffffffff0fffL) | 0x8000L; // version 8: custom
    long low = (hash.getLong() & 0x3fffffffffffffffL) | 0x8000000000000000L;
    return new UUID(high, low).toString();
  }

  /** A copy of one that was looked up once, where its provider can copy. */
  static MessageDigest sha256() {
    try {
      return (MessageDigest) SHA_256.clone();
    } catch (CloneNotSupportedException e) {
      return newSha256();
    }
  }

  private static MessageDigest newSha256() {
    try {
      return MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException e) {
      throw new AssertionError("every JVM has SHA-256", e);
    }
  }

  private static long fnv(long hash, byte[] bytes) {
    for (byte b : bytes) {
      hash = (hash ^ (b & 0xff)) * FNV_PRIME;
    }
    return hash;
  }

  /** FNV alone leaves its low bits, which choose the lane, too regular for ids that count up. */
  private static long mix(long hash) {
    hash = (hash ^ (hash >>> 33)) * 0xff51afd7ed558ccdL;
    hash = (hash ^ (hash >>> 33)) * 0xc4ceb9fe1a85ec53L;
    return hash ^ (hash >>> 33);
  }
}
