package dev.pigeonhole.webhook;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.Headers;
import dev.pigeonhole.http.HttpAnswer;
import dev.pigeonhole.http.HttpCall;
import dev.pigeonhole.transport.Acceptor;
import dev.pigeonhole.transport.Disposition;
import dev.pigeonhole.transport.Envelope;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * Answers the requests of one webhook, under any web framework. Hand it the body as it came: a
 * framework that has read it into an object and writes it anew breaks every signature.
 *
 * <p>A message is accepted before its request is answered, so the answer tells what the inbox has:
 *
 * <ul>
 *   <li>202: it has it, or had it before;
 *   <li>503 with {@code Retry-After}: it cannot say, so the sender has to come again;
 *   <li>401, without a word more: the signature is not right, or too old;
 *   <li>another 4xx, with the code of {@code docs/errors.md}: coming again would change nothing.
 * </ul>
 *
 * <p>Safe for many threads.
 */
public final class WebhookEndpoint {
  /** They belong to the way of a request, or to who sent it, and not to its message. */
  private static final Set<String> NOT_KEPT =
      Set.of(
          "authorization",
          "connection",
          "content-encoding",
          "content-length",
          "cookie",
          "expect",
          "keep-alive",
          "proxy-authorization",
          "proxy-connection",
          "te",
          "trailer",
          "transfer-encoding",
          "upgrade");

  private final Webhook.Choices choices;
  private final Signature signature;
  private final Acceptor acceptor;
  private final RefusalLog log;
  private final AtomicLong unverified = new AtomicLong();

  WebhookEndpoint(Webhook.Choices choices, Signature signature, Acceptor acceptor) {
    this.choices = choices;
    this.signature = signature;
    this.acceptor = acceptor;
    this.log = new RefusalLog(choices.path, choices.clock);
  }

  /** Accepts what is in a request and says what to answer; never throws for what came in. */
  public HttpAnswer answer(HttpCall call) {
    try {
      checkHead(call.method(), call.headers());
      byte[] body = call.body();
      if (body.length > choices.maxBody) {
        throw tooLarge();
      }
      verify(call, body);
      return answer(acceptor.accept(List.of(envelope(call, body))).get(0));
    } catch (RefusedException e) {
      tell(e);
      return e.answer();
    } catch (RuntimeException e) {
      log.failed(e);
      return Problem.notNow(choices.retryAfter);
    }
  }

  /** How many requests could not prove who sent them. */
  public long unverified() {
    return unverified.get();
  }

  /** What the sender is told, and for some of it more. */
  void tell(RefusedException refusal) {
    log.refused(refusal.code(), String.valueOf(refusal.getMessage()));
  }

  static RefusedException tooLarge() {
    return new RefusedException(
        Problem.tooLarge(), ErrorCode.PAYLOAD_TOO_LARGE, "The body is too large.");
  }

  int maxBody() {
    return choices.maxBody;
  }

  RefusedException notNow() {
    return new RefusedException(
        Problem.notNow(choices.retryAfter),
        ErrorCode.REQUEST_NOT_NOW,
        "The inbox is paused or stops; the sender is asked to come again.");
  }

  /** What can be said before the body is read. */
  void checkHead(String method, Map<String, List<String>> headers) throws RefusedException {
    if (!method.equals("POST")) {
      throw new RefusedException(
          Problem.of(405, ErrorCode.REQUEST_NOT_TAKEN, "Only POST is taken").with("Allow", "POST"),
          ErrorCode.REQUEST_NOT_TAKEN,
          "Only POST is taken.");
    }
    String type = line(headers, "Content-Type");
    String bare = type == null ? "" : type.split(";", 2)[0].strip().toLowerCase(Locale.ROOT);
    if (!choices.contentTypes.contains(bare)) {
      throw new RefusedException(
          415, ErrorCode.REQUEST_NOT_TAKEN, "This content type is not taken");
    }
    Encoding.of(line(headers, "Content-Encoding"));
  }

  private void verify(HttpCall call, byte[] body) throws RefusedException {
    ErrorCode wrong =
        signature.judge(call, body, choices.clock.instant(), choices.tolerance).code();
    if (wrong != null) {
      unverified.incrementAndGet();
      throw new RefusedException(
          HttpAnswer.of(401),
          wrong,
          wrong == ErrorCode.SIGNATURE_WRONG
              ? "It has no signature that a secret of this webhook makes."
              : "The time of its signature is not near the time here.");
    }
  }

  private Envelope envelope(HttpCall call, byte[] raw) throws RefusedException {
    byte[] body = Encoding.of(line(call.headers(), "Content-Encoding")).decode(raw, maxBody());
    Signature.Named named = signature.name(call, body);
    String type = named.type();
    return Envelope.of("http", choices.path)
        .source(choices.source)
        .needsSource(choices.sourceFromMessage)
        .id(named.id())
        .type(type == null || type.isEmpty() ? choices.type : type)
        .contentType(line(call.headers(), "Content-Type"))
        .body(body)
        .headers(kept(call.headers()))
        .build();
  }

  /**
   * By names in lower case, for senders and proxies write them as they like. Attributes of a
   * CloudEvent would be taken for its id, which the signature has proven to be another.
   */
  private Headers kept(Map<String, List<String>> headers) {
    Set<String> proofs = signature.proofs();
    Map<String, Object> kept = new LinkedHashMap<>();
    headers.forEach(
        (name, lines) -> {
          String lower = name.toLowerCase(Locale.ROOT);
          boolean claims = signature.signsId() && lower.startsWith("ce-");
          if (!NOT_KEPT.contains(lower) && !proofs.contains(lower) && !claims) {
            kept.put(lower, lines.size() == 1 ? lines.get(0) : lines);
          }
        });
    return Headers.of(kept);
  }

  private HttpAnswer answer(Disposition disposition) {
    if (disposition instanceof Disposition.Refused refused) {
      log.refused(refused.code(), refused.reason());
      return refused(refused.code());
    }
    if (disposition instanceof Disposition.Later later) {
      log.refused(later.code(), later.reason());
      return Problem.notNow(choices.retryAfter);
    }
    return HttpAnswer.of(202);
  }

  /** The reason stays here: it may name what is inside, or what a handler's exception says. */
  private static HttpAnswer refused(ErrorCode code) {
    return switch (code) {
      case PAYLOAD_TOO_LARGE -> Problem.tooLarge();
      case ID_MISSING, ID_BLANK, ID_TOO_LONG, ID_CONTROL_CHARACTER, ID_INVALID_UNICODE ->
          Problem.of(400, code, "The id of the message cannot be used");
      default -> Problem.of(422, code, "The message is not taken");
    };
  }

  /** Several lines are one list, which is no type and no encoding that we know. */
  private static @Nullable String line(Map<String, List<String>> headers, String name) {
    List<String> lines = headers.get(name);
    return lines == null ? null : String.join(",", lines);
  }

  @Override
  public String toString() {
    return "Webhook " + choices.path;
  }
}
