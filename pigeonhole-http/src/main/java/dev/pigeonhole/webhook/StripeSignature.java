package dev.pigeonhole.webhook;

import dev.pigeonhole.http.HttpCall;
import java.time.Duration;
import java.time.Instant;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** {@code Stripe-Signature: t=1492774577,v1=5257a8…,v1=…} over {@code t.body}. */
final class StripeSignature extends Signature {
  private static final String HEADER = "Stripe-Signature";

  private final Secrets secrets;

  StripeSignature(Secrets secrets) {
    this.secrets = secrets;
  }

  @Override
  Verdict judge(HttpCall call, byte[] body, Instant now, Duration tolerance) {
    List<String> values = values(call, HEADER, ",");
    List<String> times = values.stream().filter(value -> value.startsWith("t=")).toList();
    if (times.size() != 1) {
      return Verdict.WRONG;
    }
    String time = times.get(0).substring("t=".length());
    for (byte[] mac : secrets.sign(bytes(time + "."), body)) {
      String expected = "v1=" + HexFormat.of().formatHex(mac);
      if (values.stream().anyMatch(value -> same(expected, value))) {
        return Verdict.at(time, now, tolerance);
      }
    }
    return Verdict.WRONG;
  }

  @Override
  Named name(HttpCall call, byte[] body) throws RefusedException {
    Map<String, String> members = JsonTexts.read(body, Set.of("id", "type"));
    return new Named(members.get("id"), members.get("type"));
  }

  @Override
  boolean signsId() {
    return true;
  }

  @Override
  Set<String> proofs() {
    return names(HEADER);
  }

  /** Without the secrets. */
  @Override
  public String toString() {
    return "the signature of Stripe";
  }
}
