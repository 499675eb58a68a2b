package dev.pigeonhole.jackson;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.codec.CodecException;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The text of a JSON body. Everything that its type and its bytes can be refused for is refused
 * here, so that a parser only ever sees characters, and both Jacksons see the same ones.
 */
final class JsonText {
  private static final Pattern JSON =
      Pattern.compile("application/json|text/json|application/[a-z0-9!#$&^_.+-]+\\+json");

  private static final Map<String, Charset> CHARSETS =
      Map.of(
          "utf-8", StandardCharsets.UTF_8,
          "utf8", StandardCharsets.UTF_8,
          "utf-16", StandardCharsets.UTF_16,
          "utf-16be", StandardCharsets.UTF_16BE,
          "utf-16le", StandardCharsets.UTF_16LE,
          "utf-32", Charset.forName("UTF-32"),
          "utf-32be", Charset.forName("UTF-32BE"),
          "utf-32le", Charset.forName("UTF-32LE"));

  private JsonText() {}

  static String of(byte @Nullable [] content, String contentType, int maxLength) {
    String[] parts = contentType.split(";", -1);
    if (!JSON.matcher(parts[0].strip().toLowerCase(Locale.ROOT)).matches()) {
      throw new CodecException(
          ErrorCode.PAYLOAD_TYPE_REFUSED,
          ("Content of type '%s' is not JSON. Send application/json, or give the inbox a codec"
                  + " for it.")
              .formatted(Shown.escaped(contentType)),
          null);
    }
    Charset declared = declared(parts);
    if (content == null || content.length == 0) {
      throw new CodecException(
          ErrorCode.PAYLOAD_UNDECODABLE,
          content == null ? "The message has no body." : "The body of the message is empty.",
          null);
    }
    if (content.length > maxLength) {
      throw new CodecException(
          ErrorCode.PAYLOAD_OVER_LIMITS,
          "The JSON is %d bytes long, the limit is %d. Raise it with .maxLength(…)."
              .formatted(content.length, maxLength),
          null);
    }
    if (startsWith(content, 0xAC, 0xED)) {
      throw new CodecException(
          ErrorCode.PAYLOAD_TYPE_REFUSED,
          "The content is a serialized Java object, which is refused, whatever its type says.",
          null);
    }
    return decoded(content, declared);
  }

  private static @Nullable Charset declared(String[] parts) {
    for (int i = 1; i < parts.length; i++) {
      String parameter = parts[i].strip().toLowerCase(Locale.ROOT);
      if (parameter.startsWith("charset=")) {
        String name = parameter.substring("charset=".length()).replace("\"", "").strip();
        Charset charset = CHARSETS.get(name);
        if (charset == null) {
          throw new CodecException(
              ErrorCode.PAYLOAD_CHARSET,
              "JSON in the charset '%s' is refused. Send UTF-8; UTF-16 and UTF-32 are read as well."
                  .formatted(Shown.escaped(name)),
              null);
        }
        return charset;
      }
    }
    return null;
  }

  private static String decoded(byte[] content, @Nullable Charset declared) {
    Charset marked = marked(content);
    if (declared != null && marked != null && !marked.name().startsWith(declared.name())) {
      throw new CodecException(
          ErrorCode.PAYLOAD_CHARSET,
          "The content begins with the byte order mark of %s, but its type promises %s."
              .formatted(marked, declared),
          null);
    }
    Charset charset =
        marked != null ? marked : declared != null ? declared : StandardCharsets.UTF_8;
    ByteBuffer bytes = ByteBuffer.wrap(content);
    try {
      String text = charset.newDecoder().decode(bytes).toString();
      return text.startsWith("\uFEFF") ? text.substring(1) : text;
    } catch (CharacterCodingException e) {
      boolean promised = declared != null || marked != null;
      throw new CodecException(
          promised ? ErrorCode.PAYLOAD_CHARSET : ErrorCode.PAYLOAD_UNDECODABLE,
          "The content is not JSON in %s%s: byte %d does not belong there."
              .formatted(
                  charset, promised ? ", which it promises" : "", Math.max(0, bytes.position())),
          null);
    }
  }

  /** The charset of the byte order mark. UTF-32 goes first: in UTF-16 its mark would be a NUL. */
  private static @Nullable Charset marked(byte[] content) {
    if (startsWith(content, 0xFF, 0xFE, 0, 0)) {
      return CHARSETS.get("utf-32le");
    }
    if (startsWith(content, 0, 0, 0xFE, 0xFF)) {
      return CHARSETS.get("utf-32be");
    }
    if (startsWith(content, 0xFF, 0xFE)) {
      return StandardCharsets.UTF_16LE;
    }
    if (startsWith(content, 0xFE, 0xFF)) {
      return StandardCharsets.UTF_16BE;
    }
    return startsWith(content, 0xEF, 0xBB, 0xBF) ? StandardCharsets.UTF_8 : null;
  }

  private static boolean startsWith(byte[] content, int... bytes) {
    if (content.length < bytes.length) {
      return false;
    }
    for (int i = 0; i < bytes.length; i++) {
      if (content[i] != (byte) bytes[i]) {
        return false;
      }
    }
    return true;
  }
}
