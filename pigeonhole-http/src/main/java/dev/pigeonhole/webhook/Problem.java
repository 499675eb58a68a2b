package dev.pigeonhole.webhook;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.http.HttpAnswer;
import java.time.Duration;

/** What senders are told, in the form of RFC 9457. */
final class Problem {

  private Problem() {}

  /**
   * @param title plain letters; nothing that came in belongs here
   */
  static HttpAnswer of(int status, ErrorCode code, String title) {
    return HttpAnswer.of(
        status,
        "application/problem+json",
        "{\"type\":\"urn:pigeonhole:%s\",\"title\":\"%s\",\"status\":%d,\"code\":\"%s\"}"
            .formatted(code.text(), title, status, code.text()));
  }

  /** Nothing was accepted; the sender is to try again. */
  static HttpAnswer notNow(Duration retryAfter) {
    return of(503, ErrorCode.REQUEST_NOT_NOW, "Please send it again later")
        .with("Retry-After", Long.toString(Math.max(1, retryAfter.toSeconds())));
  }

  static HttpAnswer tooLarge() {
    return of(413, ErrorCode.PAYLOAD_TOO_LARGE, "The body is too large");
  }
}
