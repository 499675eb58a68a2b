package dev.pigeonhole.http;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.InboxException;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * A kept answer in bytes: a number for this form of it, the status, how many header lines, each
 * with its name and its value, and the body. It is stored, so this form never changes; another one
 * gets another number.
 */
final class AnswerFormat {
  private static final int FORM = 1;

  private AnswerFormat() {}

  /**
   * @param kept which headers; all others are left out
   */
  static byte[] write(HttpAnswer answer, Set<String> kept) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (DataOutputStream out = new DataOutputStream(bytes)) {
      Map<String, List<String>> headers = new TreeMap<>(answer.headers());
      headers.keySet().removeIf(name -> !kept.contains(name));
      out.writeByte(FORM);
      out.writeShort(answer.status());
      out.writeInt(headers.values().stream().mapToInt(List::size).sum());
      for (Map.Entry<String, List<String>> header : headers.entrySet()) {
        for (String line : header.getValue()) {
          write(out, header.getKey().getBytes(StandardCharsets.UTF_8));
          write(out, line.getBytes(StandardCharsets.UTF_8));
        }
      }
      write(out, answer.body());
    } catch (IOException e) {
      throw new UncheckedIOException("memory does not fail", e);
    }
    return bytes.toByteArray();
  }

  static HttpAnswer read(byte[] stored) {
    try (DataInputStream in = new DataInputStream(new ByteArrayInputStream(stored))) {
      int form = in.readUnsignedByte();
      if (form != FORM) {
        throw new IOException("form " + form + " is not known");
      }
      HttpAnswer answer = HttpAnswer.of(in.readUnsignedShort());
      int lines = in.readInt();
      if (lines < 0) {
        throw new IOException("there cannot be " + lines + " header lines");
      }
      for (int i = 0; i < lines; i++) {
        answer = answer.with(text(in), text(in));
      }
      byte[] body = bytes(in);
      if (in.available() > 0) {
        throw new IOException("there is more than the body");
      }
      return new HttpAnswer(answer.status(), answer.headers(), body);
    } catch (IOException | IllegalArgumentException e) {
      throw new InboxException(
          ErrorCode.PAYLOAD_CORRUPT,
          "The stored answer cannot be read: it was changed in the database, or a newer version"
              + " has written it. Nothing was run again.",
          e);
    }
  }

  private static void write(DataOutputStream out, byte[] bytes) throws IOException {
    out.writeInt(bytes.length);
    out.write(bytes);
  }

  private static String text(DataInputStream in) throws IOException {
    return new String(bytes(in), StandardCharsets.UTF_8);
  }

  private static byte[] bytes(DataInputStream in) throws IOException {
    int length = in.readInt();
    if (length < 0 || length > in.available()) {
      throw new IOException("a length of " + length + " is beyond the end");
    }
    return in.readNBytes(length);
  }
}
