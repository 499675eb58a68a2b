package dev.pigeonhole.benchmarks.inbox;

import java.nio.charset.StandardCharsets;

/**
 * The lane that an inbox gives a message without an ordering key; the hash is part of its format.
 */
public final class Lanes {

  /** As many as an inbox has unless it is told otherwise. */
  public static final int COUNT = 64;

  private static final long FNV_OFFSET = 0xcbf29ce484222325L;
  private static final long FNV_PRIME = 0x100000001b3L;

  // Every message of a run has the same source, closed by a byte that UTF-8 never has.
  private static final long SOURCE =
      (fnv(FNV_OFFSET, Messages.NAME.getBytes(StandardCharsets.UTF_8)) ^ 0xff) * FNV_PRIME;

  private Lanes() {}

  public static int of(String id) {
    long hash = fnv(SOURCE, id.getBytes(StandardCharsets.UTF_8));
    hash = (hash ^ (hash >>> 33)) * 0xff51afd7ed558ccdL;
    hash = (hash ^ (hash >>> 33)) * 0xc4ceb9fe1a85ec53L;
    return (int) Long.remainderUnsigned(hash ^ (hash >>> 33), COUNT);
  }

  private static long fnv(long start, byte[] bytes) {
    long hash = start;
    for (byte b : bytes) {
      hash = (hash ^ (b & 0xff)) * FNV_PRIME;
    }
    return hash;
  }
}
