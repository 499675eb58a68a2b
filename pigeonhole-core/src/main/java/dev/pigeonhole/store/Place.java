package dev.pigeonhole.store;

/**
 * Where a delivery stands in a list, or, with handler 0, a message. Lists are in the order of
 * {@code seq} and then {@code handler}.
 */
public record Place(long seq, int handler) implements Comparable<Place> {

  /** Before everything. */
  public static final Place START = new Place(0, 0);

  @Override
  public int compareTo(Place other) {
    int bySeq = Long.compare(seq, other.seq);
    return bySeq == 0 ? Integer.compare(handler, other.handler) : bySeq;
  }
}
