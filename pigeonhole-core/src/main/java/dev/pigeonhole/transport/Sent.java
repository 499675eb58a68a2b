package dev.pigeonhole.transport;

/** What became of an envelope that a {@link Transport} was given. */
public sealed interface Sent {

  /** The other side has it, and answers for it from now on. */
  record Confirmed() implements Sent {}

  /**
   * The other side is there, and there is nobody at it who takes this: no queue is bound, no such
   * topic, no such channel. It is kept where people see it, and goes out when they say so.
   *
   * @param reason for people: what is missing, where, and the way out
   */
  record Unroutable(String reason) implements Sent {}

  /**
   * It was not confirmed, whether or not it has arrived. The cause decides what comes next, as if a
   * handler had thrown it: {@link dev.pigeonhole.PoisonException} ends it, {@link
   * dev.pigeonhole.RetryLaterException} says when to come again, and everything else is tried again
   * as the retry policy says. Without an answer in time it is an {@link
   * dev.pigeonhole.InboxException} with {@code PH-OBX-04}.
   */
  record Failed(Throwable cause) implements Sent {}
}
