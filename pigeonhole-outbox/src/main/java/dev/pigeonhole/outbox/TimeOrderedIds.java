package dev.pigeonhole.outbox;

import java.security.SecureRandom;
import java.time.InstantSource;
import java.util.UUID;

/**
 * Makes UUIDs of version 7 (RFC 9562): the milliseconds, then random bits. Ids that were made one
 * after the other lie side by side in an index. Their order is no promise: the engine keeps its
 * own.
 */
final class TimeOrderedIds {
  private static final long VERSION = 0x7000L;
  private static final long VARIANT = 0x8000_0000_0000_0000L;

  private final SecureRandom random = new SecureRandom();
  private final InstantSource clock;

  TimeOrderedIds(InstantSource clock) {
    this.clock = clock;
  }

  String next() {
    long high = (clock.millis() << 16) | VERSION | (random.nextInt() & 0x0FFFL);
    long low = VARIANT | (random.nextLong() >>> 2);
    return new UUID(high, low).toString();
  }
}
