package dev.pigeonhole.webhook;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.pigeonhole.http.HttpCall;
import java.security.GeneralSecurityException;
import java.time.Instant;
import java.util.Base64;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/** Requests as senders sign them, made without the code that is tested. */
final class Proofs {
  static final String SECRET = "whsec_0123456789abcdef0123";
  static final String NEXT_SECRET = "whsec_9876543210fedcba9876";
  static final String FOREIGN_SECRET = "whsec_aaaaaaaaaaaaaaaaaaaa";
  static final String EVENT =
      "{\"id\":\"evt_1\",\"type\":\"charge.succeeded\",\"data\":{\"a\":[1]}}";

  private Proofs() {}

  static byte[] hmac(byte[] secret, String content) {
    return hmac(secret, content.getBytes(UTF_8));
  }

  static byte[] hmac(byte[] secret, byte[] content) {
    try {
      Mac mac = Mac.getInstance("HmacSHA256");
      mac.init(new SecretKeySpec(secret, "HmacSHA256"));
      return mac.doFinal(content);
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException(e);
    }
  }

  static String hex(String secret, String content) {
    return HexFormat.of().formatHex(hmac(secret.getBytes(UTF_8), content));
  }

  /** The header of a request that Stripe sends now. */
  static String stripe(String secret, Instant now, String body) {
    return stripe(secret, Long.toString(now.getEpochSecond()), body);
  }

  static String stripe(String secret, String time, String body) {
    return "t=" + time + ",v1=" + hex(secret, time + "." + body);
  }

  /** The header of a request in the form of Standard Webhooks. */
  static String standard(String base64, String id, String time, String body) {
    byte[] mac = hmac(Base64.getDecoder().decode(base64), id + "." + time + "." + body);
    return "v1," + Base64.getEncoder().encodeToString(mac);
  }

  /**
   * A POST of JSON.
   *
   * @param headers names and values in turn; a name may come twice
   */
  static HttpCall post(byte[] body, String... headers) {
    return call("POST", body, headers);
  }

  static HttpCall post(String body, String... headers) {
    return post(body.getBytes(UTF_8), headers);
  }

  static HttpCall call(String method, byte[] body, String... headers) {
    Map<String, List<String>> lines = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
    lines.put("Content-Type", List.of("application/json"));
    for (int i = 0; i < headers.length; i += 2) {
      String value = headers[i + 1];
      lines.merge(
          headers[i],
          List.of(value),
          (before, more) ->
              before.get(0).equals("application/json")
                  ? more
                  : List.of(before.get(0), more.get(0)));
    }
    return new HttpCall(method, "/hooks/stripe", lines, body);
  }
}
