package dev.pigeonhole.transport;

import dev.pigeonhole.ErrorCode;

/** What a source has to do with an envelope that it handed in. */
public sealed interface Disposition {

  /** Acknowledge it: it is taken, was known, or nobody wants it. */
  record Done() implements Disposition {}

  /**
   * Put it aside where people see it, with code and reason, and only then acknowledge it: it would
   * be refused again, and nobody has it. Where that cannot be done, keep it.
   *
   * @param reason for people, beginning with the code
   */
  record Refused(ErrorCode code, String reason) implements Disposition {}

  /**
   * Keep it, and hand it in again after a while: an inline or a direct handler has not finished it.
   * How often is the source's to decide; nothing is counted here.
   *
   * @param reason for people, beginning with the code
   */
  record Later(ErrorCode code, String reason) implements Disposition {}
}
