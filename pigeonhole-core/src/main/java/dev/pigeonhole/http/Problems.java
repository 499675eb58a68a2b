package dev.pigeonhole.http;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.admin.DeliveryState;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/** What is answered instead of a run or its answer, in the form of RFC 9457. */
final class Problems {
  private static final String TYPE = "application/problem+json";

  /** A copy has waited already when it is told to; so a short while will do. */
  private static final String RETRY_SECONDS = "1";

  private final String header;
  private final @Nullable String documentation;

  /**
   * @param documentation where clients can read about keys; null where they cannot
   */
  Problems(String header, @Nullable String documentation) {
    this.header = header;
    this.documentation = documentation;
  }

  HttpAnswer missing() {
    return answer(
        400,
        ErrorCode.GUARD_KEY_MISSING,
        header + " is missing",
        "This operation needs the header %s, with a key of its own for each operation and the same"
                .formatted(header)
            + " key for each repeat of it.");
  }

  HttpAnswer refused(KeyRefusedException refused) {
    return answer(
        400,
        refused.code,
        header + " cannot be used",
        "The header %s %s.".formatted(header, refused.getMessage()));
  }

  HttpAnswer running() {
    return answer(
            409,
            ErrorCode.REQUEST_RUNNING,
            "A request with this key is still running",
            "Repeat it with the same key in a while, to get its answer.")
        .with("Retry-After", RETRY_SECONDS);
  }

  HttpAnswer reused() {
    return answer(
        422,
        ErrorCode.REQUEST_DIFFERS,
        "This key was used for another request",
        "Method, path and body must be those of the first request with this key. Use a new key for"
            + " something new.");
  }

  HttpAnswer gone(Instant firstRun) {
    return answer(
        410,
        ErrorCode.ANSWER_GONE,
        "This request was done before",
        "It was done at %s, and its answer is no longer kept. It was not done again."
            .formatted(firstRun));
  }

  HttpAnswer withOperator(DeliveryState state) {
    return answer(
        409,
        ErrorCode.REQUEST_WITH_OPERATOR,
        "This request was not done",
        state == DeliveryState.DISCARDED
            ? "An operator has decided that it is not to be done."
            : "It waits for an operator; repeating it does not help.");
  }

  private HttpAnswer answer(int status, ErrorCode code, String title, String detail) {
    String type = documentation == null ? "urn:pigeonhole:" + code.text() : documentation;
    String json =
        "{\"type\":%s,\"title\":%s,\"status\":%d,\"detail\":%s,\"code\":%s}"
            .formatted(
                JsonText.quoted(type),
                JsonText.quoted(title),
                status,
                JsonText.quoted(detail),
                JsonText.quoted(code.text()));
    return HttpAnswer.of(status, TYPE, json);
  }
}
