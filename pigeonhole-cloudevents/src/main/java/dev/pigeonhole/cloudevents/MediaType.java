package dev.pigeonhole.cloudevents;

import java.nio.charset.Charset;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * What a content type says of the bytes.
 *
 * @param name type and subtype in lower case, without parameters
 * @param charsetName the one it names, or UTF-8
 */
record MediaType(String name, String charsetName) {

  static MediaType of(String contentType) {
    String[] parts = contentType.split(";", -1);
    String charset = "UTF-8";
    for (String part : parts) {
      String parameter = part.strip();
      if (parameter.regionMatches(true, 0, "charset=", 0, 8)) {
        charset = parameter.substring(8).replace("\"", "").strip();
      }
    }
    return new MediaType(parts[0].strip().toLowerCase(Locale.ROOT), charset);
  }

  /** As the JSON format of CloudEvents defines it. */
  boolean isJson() {
    return name.endsWith("/json") || name.endsWith("+json");
  }

  /** Null if nobody here knows it. */
  @Nullable Charset charset() {
    try {
      return Charset.forName(charsetName);
    } catch (IllegalArgumentException e) {
      return null;
    }
  }
}
