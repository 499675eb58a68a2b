package dev.pigeonhole.store;

import org.jspecify.annotations.Nullable;

/**
 * An open delivery as it was read. Lane, handler, {@code seq} and {@code version} together name one
 * attempt: every settle names them and hits one row, or is refused.
 *
 * @param cell lane and handler family
 * @param seq the message's number
 * @param version raised by each failure, release, retry and operator action
 * @param keyId the exact handler key the delivery was created under
 * @param failures attempts that ended with an exception or a timeout
 * @param crashes lone marks: attempts that ran alone and never came back
 * @param releases attempts cut by a shutdown
 * @param keyHash hash of the ordering key, or null
 * @param mark the incarnation that marked this row before dispatching it, or 0
 * @param late whether it stands in {@code later}: it has waited for a time or a release
 */
public record Delivery(
    Cell cell,
    long seq,
    int version,
    int keyId,
    int failures,
    int crashes,
    int releases,
    @Nullable Long keyHash,
    long mark,
    boolean late) {

  /** The attempt number a handler sees; the first is 1. */
  public int attempt() {
    return failures + crashes + 1;
  }
}
