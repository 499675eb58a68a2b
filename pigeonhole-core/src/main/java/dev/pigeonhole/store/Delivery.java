package dev.pigeonhole.store;

import org.jspecify.annotations.Nullable;

/**
 * An open delivery as it was read. Lane, handler, {@code seq} and {@code version} together name one
 * attempt: every settle names them and hits one row, or is refused.
 *
 * @param cell lane and handler family
 * @param seq the message's number
 * @param version identifies the message and the attempt, see {@link Versions}; raised by each
 *     failure, release, retry and operator action
 * @param keyId the exact handler key the delivery was created under
 * @param failures attempts that ended with an exception or a timeout
 * @param crashes lone marks: attempts that ran alone and never came back
 * @param releases attempts that did not count: cut by a shutdown, or by an error of the database
 * @param keyHash hash of the ordering key, or null
 * @param mark the incarnation that marked this row before dispatching it, or 0
 * @param late whether it stands in {@code later}: it has waited for a time or a release, or has a
 *     place of its own
 * @param place its place among what waits for the same handler, the lowest first; 0 where its
 *     number or its due time tells
 */
public record Delivery(
    Cell cell,
    long seq,
    long version,
    int keyId,
    int failures,
    int crashes,
    int releases,
    @Nullable Long keyHash,
    long mark,
    boolean late,
    long place) {

  /** A delivery without a place of its own. */
  public Delivery(
      Cell cell,
      long seq,
      long version,
      int keyId,
      int failures,
      int crashes,
      int releases,
      @Nullable Long keyHash,
      long mark,
      boolean late) {
    this(cell, seq, version, keyId, failures, crashes, releases, keyHash, mark, late, 0);
  }

  /**
   * A delivery as it is created: nothing has been tried, and it stands in no {@code later}.
   *
   * @param version the message's first one
   */
  public static Delivery fresh(
      Cell cell, long seq, long version, int keyId, @Nullable Long keyHash) {
    return new Delivery(cell, seq, version, keyId, 0, 0, 0, keyHash, 0, false);
  }

  /** The same delivery, standing in {@code later} or not. */
  public Delivery inLater(boolean stands) {
    return new Delivery(
        cell, seq, version, keyId, failures, crashes, releases, keyHash, mark, stands, place);
  }

  /** The same delivery with this place. */
  public Delivery at(long otherPlace) {
    return new Delivery(
        cell, seq, version, keyId, failures, crashes, releases, keyHash, mark, late, otherPlace);
  }

  /** The same delivery with this incarnation's mark; 0 takes it away. */
  public Delivery marked(long incarnation) {
    return new Delivery(
        cell, seq, version, keyId, failures, crashes, releases, keyHash, incarnation, late, place);
  }

  /**
   * Whether this is another attempt of the same delivery, and a later one. Of two versions the
   * later one is the one that takes fewer steps of {@link Versions#next} to reach.
   */
  public boolean follows(Delivery other) {
    return seq == other.seq
        && cell.equals(other.cell)
        && Versions.ofOneMessage(version, other.version)
        && (int) (version - other.version) > 0;
  }

  /** The attempt number a handler sees; the first is 1. */
  public int attempt() {
    return failures + crashes + 1;
  }

  /** The rows that an engine has open differ in this already; it looks them up all the time. */
  @Override
  public int hashCode() {
    return 31 * Long.hashCode(seq) + cell.handler();
  }
}
