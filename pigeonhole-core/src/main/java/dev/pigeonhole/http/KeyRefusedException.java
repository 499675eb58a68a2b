package dev.pigeonhole.http;

import dev.pigeonhole.ErrorCode;

/** A request has a key, and it cannot be used. */
final class KeyRefusedException extends Exception {
  private static final long serialVersionUID = 1L;

  final ErrorCode code;

  /**
   * @param why ends the sentence "The header …"
   */
  KeyRefusedException(ErrorCode code, String why) {
    super(why);
    this.code = code;
  }
}
