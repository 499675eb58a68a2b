package dev.pigeonhole.http;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/**
 * What makes a request another one: method, path and body, byte for byte. Each part has its length
 * in front, so that no two requests look alike. Hashes of it are stored, so it never changes.
 */
final class Fingerprint {

  private Fingerprint() {}

  static byte[] of(HttpCall call) {
    byte[] method = call.method().getBytes(StandardCharsets.UTF_8);
    byte[] path = call.path().getBytes(StandardCharsets.UTF_8);
    byte[] body = call.body();
    return ByteBuffer.allocate(2 * Integer.BYTES + method.length + path.length + body.length)
        .putInt(method.length)
        .put(method)
        .putInt(path.length)
        .put(path)
        .put(body)
        .array();
  }
}
