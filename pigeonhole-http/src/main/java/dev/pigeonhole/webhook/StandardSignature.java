package dev.pigeonhole.webhook;

import dev.pigeonhole.http.HttpCall;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Set;

/** Standard Webhooks: {@code webhook-signature: v1,… v1a,…} over {@code id.timestamp.body}. */
final class StandardSignature extends Signature {
  static final String ID = "webhook-id";
  static final String TIME = "webhook-timestamp";
  static final String SIGNATURE = "webhook-signature";

  private final List<StandardKey> keys;

  StandardSignature(List<String> keys) {
    this.keys = keys.stream().map(StandardKey::of).toList();
  }

  /** What is signed. */
  static byte[] content(String id, String time, byte[] body) {
    byte[] before = bytes(id + "." + time + ".");
    byte[] content = new byte[before.length + body.length];
    System.arraycopy(before, 0, content, 0, before.length);
    System.arraycopy(body, 0, content, before.length, body.length);
    return content;
  }

  @Override
  Verdict judge(HttpCall call, byte[] body, Instant now, Duration tolerance) {
    String id = only(call, ID);
    String time = only(call, TIME);
    if (id == null || time == null) {
      return Verdict.WRONG;
    }
    byte[] content = content(id, time, body);
    List<String> values = values(call, SIGNATURE, " ");
    for (StandardKey key : keys) {
      if (key.made(content, values)) {
        return Verdict.at(time, now, tolerance);
      }
    }
    return Verdict.WRONG;
  }

  /** The specification leaves the form of the body open, so one without a type is no mistake. */
  @Override
  Named name(HttpCall call, byte[] body) throws RefusedException {
    return new Named(
        only(call, ID),
        JsonTexts.isObject(body) ? JsonTexts.read(body, Set.of("type")).get("type") : null);
  }

  @Override
  boolean signsId() {
    return true;
  }

  /** Its time is the time of this copy; the next copy has another. */
  @Override
  Set<String> proofs() {
    return names(SIGNATURE, TIME);
  }

  /** Without the keys. */
  @Override
  public String toString() {
    return "the signature of Standard Webhooks";
  }
}
