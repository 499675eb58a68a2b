package dev.pigeonhole.spring;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.codec.PayloadCodec;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What a method returns, in bytes: a number for this form of it and what it is, for a response its
 * status and header lines, and the value as the codec writes it. It is stored, so this form never
 * changes; another one gets another number.
 *
 * @param type of the value, or of what is in the body of a response
 * @param response whether it is a {@code ResponseEntity}
 */
record AnswerForm(Class<?> type, boolean response) {
  private static final int FORM = 1;

  private static final int NULL = 0;
  private static final int VALUE = 1;
  private static final int EMPTY_RESPONSE = 2;
  private static final int RESPONSE = 3;

  byte[] write(@Nullable Object returned, PayloadCodec codec) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (DataOutputStream out = new DataOutputStream(bytes)) {
      out.writeByte(FORM);
      if (returned == null) {
        out.writeByte(NULL);
      } else if (response) {
        writeResponse(Responses.parts(returned), codec, out);
      } else {
        out.writeByte(VALUE);
        out.write(codec.encode(returned));
      }
    } catch (IOException e) {
      throw new UncheckedIOException("memory does not fail", e);
    }
    return bytes.toByteArray();
  }

  private static void writeResponse(Responses.Parts parts, PayloadCodec codec, DataOutputStream out)
      throws IOException {
    Object body = parts.body();
    out.writeByte(body == null ? EMPTY_RESPONSE : RESPONSE);
    out.writeShort(parts.status());
    out.writeInt(parts.headers().size());
    for (Map.Entry<String, String> line : parts.headers()) {
      write(out, line.getKey());
      write(out, line.getValue());
    }
    if (body != null) {
      out.write(codec.encode(body));
    }
  }

  private static void write(DataOutputStream out, String text) throws IOException {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    out.writeInt(bytes.length);
    out.write(bytes);
  }

  @Nullable Object read(byte[] stored, PayloadCodec codec) {
    try (DataInputStream in = new DataInputStream(new ByteArrayInputStream(stored))) {
      int form = in.readUnsignedByte();
      int kind = in.readUnsignedByte();
      if (form != FORM || kind > RESPONSE) {
        throw new IOException("form %d %d is not known".formatted(form, kind));
      }
      if (kind != NULL && response != kind > VALUE) {
        throw new IOException("it is of a method that returned something else");
      }
      return switch (kind) {
        case NULL -> null;
        case VALUE -> value(in, codec);
        default -> readResponse(in, kind, codec);
      };
    } catch (IOException | IllegalArgumentException e) {
      throw new InboxException(
          ErrorCode.PAYLOAD_CORRUPT,
          "The stored answer cannot be read: it was changed in the database, a newer version has"
              + " written it, or the method has returned something else then. Nothing was run"
              + " again.",
          e);
    }
  }

  private Object readResponse(DataInputStream in, int kind, PayloadCodec codec) throws IOException {
    int status = in.readUnsignedShort();
    int lines = in.readInt();
    List<Map.Entry<String, String>> headers = new ArrayList<>();
    for (int i = 0; i < lines; i++) {
      headers.add(Map.entry(text(in), text(in)));
    }
    Object body = kind == RESPONSE ? value(in, codec) : null;
    return Responses.of(new Responses.Parts(status, headers, body));
  }

  private static String text(DataInputStream in) throws IOException {
    int length = in.readInt();
    if (length < 0 || length > in.available()) {
      throw new IOException("a length of " + length + " is beyond the end");
    }
    return new String(in.readNBytes(length), StandardCharsets.UTF_8);
  }

  private @Nullable Object value(DataInputStream in, PayloadCodec codec) throws IOException {
    return codec.decode(in.readAllBytes(), codec.contentType(), type);
  }
}
