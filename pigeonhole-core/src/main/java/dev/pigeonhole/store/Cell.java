package dev.pigeonhole.store;

/**
 * One lane of one handler: the unit of ownership, of reading, and of order.
 *
 * @param lane the lane's number, from 0
 * @param handler the number of the handler's family, see {@link HandlerId}
 */
public record Cell(int lane, int handler) {

  /** By hand, because every row is looked up by its cell, again and again. */
  @Override
  public int hashCode() {
    return 31 * handler + lane;
  }
}
