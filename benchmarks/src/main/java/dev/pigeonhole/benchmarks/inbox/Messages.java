package dev.pigeonhole.benchmarks.inbox;

import dev.pigeonhole.benchmarks.subject.Run;
import java.nio.ByteBuffer;

/**
 * The messages of a run, or of what comes before it. A payload begins with the number of its
 * message, so that a handler that sees nothing else can say which one it was.
 */
public final class Messages {

  /** Channel, type and source of every message. */
  public static final String NAME = "load";

  /** The media type of bytes that nobody has to understand: no codec is measured. */
  public static final String CONTENT_TYPE = "application/octet-stream";

  private static final int HEAD = Integer.BYTES + Long.BYTES;
  private static final int INTENDED_AT = Integer.BYTES;

  private final Run run;
  private final int first;
  private final int count;

  private Messages(Run run, int first, int count) {
    if (run.payloadBytes() < HEAD) {
      throw new IllegalArgumentException("A payload has at least %d bytes".formatted(HEAD));
    }
    this.run = run;
    this.first = first;
    this.count = count;
  }

  /** Those that the run is about. */
  public static Messages of(Run run) {
    return new Messages(run, 0, run.messages());
  }

  /** As many as may be needed, in a run that ends by time. */
  public static Messages atMost(Run run, int count) {
    return new Messages(run, 0, count);
  }

  /** Others, which come before the run begins. Their numbers are above those of the run. */
  public static Messages before(Run run, int count) {
    return new Messages(run, run.messages(), count);
  }

  public int count() {
    return count;
  }

  /** The number of the first one. */
  public int first() {
    return first;
  }

  /**
   * @param index from 0 on
   */
  public String id(int index) {
    return run.id(first + index);
  }

  /**
   * @param index from 0 on
   */
  public byte[] payload(int index) {
    byte[] payload = run.payload(index);
    ByteBuffer.wrap(payload).putInt(first + index);
    return payload;
  }

  /** A payload that also says when it should have been sent. */
  public byte[] payload(int index, long intended) {
    byte[] payload = payload(index);
    ByteBuffer.wrap(payload).putLong(INTENDED_AT, intended);
    return payload;
  }

  public static int number(byte[] payload) {
    return ByteBuffer.wrap(payload).getInt();
  }

  public static long intended(byte[] payload) {
    return ByteBuffer.wrap(payload).getLong(INTENDED_AT);
  }
}
