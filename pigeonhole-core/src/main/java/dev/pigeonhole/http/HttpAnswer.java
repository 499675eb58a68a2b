package dev.pigeonhole.http;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A response, for whatever server sends it.
 *
 * @param status 200 to 599
 * @param headers found in whichever case they are asked for
 * @param body empty where there is none
 */
public record HttpAnswer(int status, Map<String, List<String>> headers, byte[] body) {

  /**
   * Copies headers and body.
   *
   * @throws IllegalArgumentException if no server could send it
   */
  public HttpAnswer {
    if (status < 200 || status > 599) {
      throw new IllegalArgumentException("a status is 200 to 599, not " + status);
    }
    headers = HeaderLines.copyOf(headers);
    HeaderLines.check(headers);
    body = body.clone();
  }

  /** Without a body. */
  public static HttpAnswer of(int status) {
    return new HttpAnswer(status, Map.of(), new byte[0]);
  }

  /** With a body of this type. */
  public static HttpAnswer of(int status, String contentType, byte[] body) {
    return new HttpAnswer(status, Map.of("Content-Type", List.of(contentType)), body);
  }

  /** With a text in UTF-8; say so in the type where readers cannot know. */
  public static HttpAnswer of(int status, String contentType, String body) {
    return of(status, contentType, body.getBytes(StandardCharsets.UTF_8));
  }

  /** With one more header line. */
  public HttpAnswer with(String header, String value) {
    Map<String, List<String>> more = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
    more.putAll(headers);
    more.merge(header, List.of(value), (a, b) -> Stream.of(a, b).flatMap(List::stream).toList());
    return new HttpAnswer(status, more, body);
  }

  /** The first line of this header. */
  public Optional<String> header(String name) {
    return headers.getOrDefault(name, List.of()).stream().findFirst();
  }

  /** A copy. */
  @Override
  public byte[] body() {
    return body.clone();
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof HttpAnswer that
        && status == that.status
        && headers.equals(that.headers)
        && Arrays.equals(body, that.body);
  }

  /** Without the headers, whose names are equal in any case. */
  @Override
  public int hashCode() {
    return 31 * status + Arrays.hashCode(body);
  }

  /** Without headers and body, which may be secret. */
  @Override
  public String toString() {
    return "%d with %d bytes".formatted(status, body.length);
  }
}
