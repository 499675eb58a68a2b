package dev.pigeonhole.tck;

import dev.pigeonhole.transport.Envelope;
import dev.pigeonhole.transport.Transport;
import java.util.List;
import java.util.OptionalInt;

/** What the transports of a {@link TransportContract} send to: one empty destination. */
public interface TransportTarget extends AutoCloseable {

  /** One more transport to it, at whose settings nothing was changed. */
  Transport transport();

  /** One to a destination of the same other side that does not exist, or that nobody takes from. */
  Transport toNowhere();

  /**
   * What has arrived until now, as a consumer reads it, in the order of arrival for each key. The
   * same may be there several times.
   */
  List<Envelope> received();

  /** From now on the other side confirms nothing, and refuses nothing, until {@link #resume}. */
  void stall();

  /** The other side answers again; whether also for what it got meanwhile is its own business. */
  void resume();

  /** The smallest body, in bytes, that the transport will never send; empty where there is none. */
  OptionalInt tooLarge();

  /** Ends whatever was started for it. */
  @Override
  void close();
}
