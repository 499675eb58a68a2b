package dev.pigeonhole.jackson;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.codec.CodecException;
import java.io.ByteArrayOutputStream;

/** Stops a payload that is too long before the whole of it lies in memory. */
final class BoundedOutput extends ByteArrayOutputStream {
  private final int limit;

  BoundedOutput(int limit) {
    super(Math.min(limit, 512));
    this.limit = limit;
  }

  @Override
  public synchronized void write(int b) {
    refuseMoreThanTheLimit(1);
    super.write(b);
  }

  @Override
  public synchronized void write(byte[] bytes, int offset, int length) {
    refuseMoreThanTheLimit(length);
    super.write(bytes, offset, length);
  }

  private void refuseMoreThanTheLimit(int more) {
    if (more > limit - count) {
      throw new CodecException(
          ErrorCode.PAYLOAD_TOO_LARGE,
          ("The payload is more than %d bytes of JSON. Raise the limit with .maxLength(…) and that"
                  + " of the inbox, or store the content elsewhere and send a reference.")
              .formatted(limit),
          null);
    }
  }
}
