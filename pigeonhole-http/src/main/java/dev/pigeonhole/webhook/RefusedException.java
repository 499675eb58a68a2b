package dev.pigeonhole.webhook;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.http.HttpAnswer;

/** A request is not taken, and this is its answer. */
final class RefusedException extends Exception {
  private static final long serialVersionUID = 1L;

  private final transient HttpAnswer answer;
  private final ErrorCode code;

  /**
   * @param title for whoever runs the sender; it tells nothing of our inside
   */
  RefusedException(int status, ErrorCode code, String title) {
    this(Problem.of(status, code, title), code, title);
  }

  /**
   * @param title for the log
   */
  RefusedException(HttpAnswer answer, ErrorCode code, String title) {
    super(code.text() + ": " + title, null, false, false); // it needs no trace
    this.answer = answer;
    this.code = code;
  }

  ErrorCode code() {
    return code;
  }

  HttpAnswer answer() {
    return answer;
  }
}
