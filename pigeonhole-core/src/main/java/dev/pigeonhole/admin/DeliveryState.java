package dev.pigeonhole.admin;

/** The states of a delivery; all but the last three are open. */
public enum DeliveryState {
  /** Ready to run, or running. */
  PENDING,
  /** Waits for a time: a retry, or a message that asked for it. */
  SCHEDULED,
  /** Could run, if somebody had not paused its handler. */
  PAUSED,
  /** Waits behind a poisoned delivery of its ordering key. */
  BLOCKED,
  /** Waits, pending or scheduled, because no living node knows its handler key. */
  HELD,
  /** Its handler has finished the message, or an operator says so: the receipt is there. */
  COMPLETED,
  /** An operator decided that no handler needs to run: the receipt is there. */
  DISCARDED,
  /** Not tried again until an operator acts. */
  POISONED
}
