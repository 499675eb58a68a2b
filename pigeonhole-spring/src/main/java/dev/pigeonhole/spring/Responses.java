package dev.pigeonhole.spring;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.springframework.http.HttpHeaders;
import org.springframework.http.ResponseEntity;

/** What is kept of a {@code ResponseEntity}. Only used where there is one, so with spring-web. */
final class Responses {
  /** As for other endpoints. Cookies and dates are those of one client, or of one moment. */
  private static final List<String> KEPT =
      List.of(
          HttpHeaders.CONTENT_TYPE,
          HttpHeaders.CONTENT_ENCODING,
          HttpHeaders.CONTENT_LANGUAGE,
          HttpHeaders.LOCATION);

  /** A response without what belongs to its first sending alone. */
  record Parts(int status, List<Map.Entry<String, String>> headers, @Nullable Object body) {}

  private Responses() {}

  static Parts parts(Object response) {
    ResponseEntity<?> entity = (ResponseEntity<?>) response;
    List<Map.Entry<String, String>> lines = new ArrayList<>();
    for (String name : KEPT) {
      for (String value : entity.getHeaders().getOrEmpty(name)) {
        lines.add(Map.entry(name, value));
      }
    }
    return new Parts(entity.getStatusCode().value(), lines, entity.getBody());
  }

  static Object of(Parts parts) {
    ResponseEntity.BodyBuilder response = ResponseEntity.status(parts.status());
    parts.headers().forEach(line -> response.header(line.getKey(), line.getValue()));
    return response.body(parts.body());
  }

  /** Whether a repeat is to run again. */
  static boolean hasFailed(Object response) {
    return ((ResponseEntity<?>) response).getStatusCode().is5xxServerError();
  }
}
