package dev.pigeonhole.support;

/**
 * What a {@link FaultProxy} does to a statement on its way. The client sees the same in all three
 * cases: its connection is gone.
 */
public enum StatementFault {
  /** The server never gets it. */
  REQUEST_LOST,

  /** The server has done it and answered; the client loses its connection instead of the answer. */
  ANSWER_LOST,

  /** The server gets it, and the client is cut off at once, while the server is still at work. */
  CUT_IN_FLIGHT
}
