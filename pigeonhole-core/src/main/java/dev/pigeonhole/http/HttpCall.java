package dev.pigeonhole.http;

import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * A request, as whatever server received it.
 *
 * @param path with its query, if that is part of what is asked for
 * @param headers found in whichever case they are asked for
 */
public record HttpCall(String method, String path, Map<String, List<String>> headers, byte[] body) {

  /** Copies headers and body. */
  public HttpCall {
    Objects.requireNonNull(method, "method");
    Objects.requireNonNull(path, "path");
    headers = HeaderLines.copyOf(headers);
    body = body.clone();
  }

  /** A copy. */
  @Override
  public byte[] body() {
    return body.clone();
  }

  /** Without headers and body, which may be secret. */
  @Override
  public String toString() {
    return method + " " + path;
  }
}
