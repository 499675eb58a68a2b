package dev.pigeonhole.internal.registry;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.Headers;
import dev.pigeonhole.InboxException;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Headers as bytes: a version, then name, tag and value of each. Written by hand rather than with a
 * serializer, because a header that comes from outside must never decide which class is made.
 */
public final class HeaderFormat {
  private static final int VERSION = 1;
  private static final int DEEPEST = 16;

  private HeaderFormat() {}

  /** Encodes; no headers are no bytes. */
  public static byte[] encode(Headers headers) {
    if (headers.asMap().isEmpty()) {
      return new byte[0];
    }
    ByteArrayOutputStream bytes = new ByteArrayOutputStream(64);
    try (DataOutputStream out = new DataOutputStream(bytes)) {
      out.writeByte(VERSION);
      writeMap(out, headers.asMap(), 0);
    } catch (IOException e) {
      throw new AssertionError("writing to memory cannot fail", e);
    }
    return bytes.toByteArray();
  }

  /** Decodes what {@link #encode} wrote. */
  public static Headers decode(byte[] bytes) {
    if (bytes.length == 0) {
      return Headers.none();
    }
    try (DataInputStream in = new DataInputStream(new ByteArrayInputStream(bytes))) {
      if (in.readByte() != VERSION) {
        throw new IOException("unknown version");
      }
      Headers headers = Headers.of(readMap(in, 0));
      if (in.available() > 0) {
        throw new IOException("there is more than the headers");
      }
      return headers;
    } catch (IOException | RuntimeException e) {
      throw new InboxException(
          ErrorCode.PAYLOAD_CORRUPT,
          "The stored headers of the message cannot be read: they were changed in the database."
              + " Restore them from a backup, or send the message again under a new id.",
          e);
    }
  }

  private static void writeMap(
      DataOutputStream out, Map<String, ? extends @Nullable Object> map, int depth)
      throws IOException {
    out.writeInt(map.size());
    for (Map.Entry<String, ? extends @Nullable Object> entry : map.entrySet()) {
      writeText(out, entry.getKey());
      write(out, entry.getKey(), entry.getValue(), depth);
    }
  }

  private static void write(DataOutputStream out, String name, @Nullable Object value, int depth)
      throws IOException {
    if (value == null) {
      out.writeByte('0');
    } else if (value instanceof String text) {
      if (isWhole(text)) {
        out.writeByte('S');
        writeText(out, text);
      } else {
        out.writeByte('U'); // no charset has bytes for half a character
        out.writeInt(2 * text.length());
        out.writeChars(text);
      }
    } else if (value instanceof Boolean bool) {
      out.writeByte(bool ? 'T' : 'F');
    } else if (value instanceof Byte number) {
      out.writeByte('b');
      out.writeByte(number);
    } else if (value instanceof Short number) {
      out.writeByte('s');
      out.writeShort(number);
    } else if (value instanceof Integer number) {
      out.writeByte('i');
      out.writeInt(number);
    } else if (value instanceof Long number) {
      out.writeByte('l');
      out.writeLong(number);
    } else if (value instanceof Float number) {
      out.writeByte('f');
      out.writeFloat(number);
    } else if (value instanceof Double number) {
      out.writeByte('d');
      out.writeDouble(number);
    } else if (value instanceof BigInteger number) {
      out.writeByte('n');
      writeBytes(out, number.toByteArray());
    } else if (value instanceof BigDecimal number) {
      out.writeByte('m');
      out.writeInt(number.scale());
      writeBytes(out, number.unscaledValue().toByteArray());
    } else if (value instanceof Instant time) {
      out.writeByte('t');
      out.writeLong(time.getEpochSecond());
      out.writeInt(time.getNano());
    } else if (value instanceof byte[] content) {
      out.writeByte('B');
      writeBytes(out, content);
    } else if (value instanceof List<?> list && depth < DEEPEST) {
      out.writeByte('L');
      out.writeInt(list.size());
      for (Object each : list) {
        write(out, name, each, depth + 1);
      }
    } else if (value instanceof Map<?, ?> map
        && depth < DEEPEST
        && map.keySet().stream().allMatch(key -> key instanceof String text && isWhole(text))) {
      out.writeByte('M');
      Map<String, @Nullable Object> texts = new LinkedHashMap<>();
      map.forEach((key, each) -> texts.put((String) key, each));
      writeMap(out, texts, depth + 1);
    } else {
      throw new InboxException(
          ErrorCode.HEADER_VALUE_UNSUPPORTED,
          ("Header '%s' holds a %s. Use text, numbers, booleans, instants, bytes, and lists or maps"
                  + " by text of these, at most %d deep.")
              .formatted(Names.shown(name), value.getClass().getName(), DEEPEST));
    }
  }

  private static Map<String, @Nullable Object> readMap(DataInputStream in, int depth)
      throws IOException {
    int size = readSize(in);
    Map<String, @Nullable Object> map = new LinkedHashMap<>();
    for (int i = 0; i < size; i++) {
      map.put(readText(in), read(in, depth));
    }
    return map;
  }

  private static @Nullable Object read(DataInputStream in, int depth) throws IOException {
    int tag = in.readByte();
    if (depth > DEEPEST) {
      throw new IOException("nested too deeply");
    }
    return switch (tag) {
      case '0' -> null;
      case 'S' -> readText(in);
      case 'U' -> ByteBuffer.wrap(readBytes(in)).asCharBuffer().toString();
      case 'T' -> Boolean.TRUE;
      case 'F' -> Boolean.FALSE;
      case 'b' -> in.readByte();
      case 's' -> in.readShort();
      case 'i' -> in.readInt();
      case 'l' -> in.readLong();
      case 'f' -> in.readFloat();
      case 'd' -> in.readDouble();
      case 'n' -> new BigInteger(readBytes(in));
      case 'm' -> {
        int scale = in.readInt();
        yield new BigDecimal(new BigInteger(readBytes(in)), scale);
      }
      case 't' -> Instant.ofEpochSecond(in.readLong(), in.readInt());
      case 'B' -> readBytes(in);
      case 'L' -> {
        int size = readSize(in);
        List<@Nullable Object> list = new ArrayList<>();
        for (int i = 0; i < size; i++) {
          list.add(read(in, depth + 1));
        }
        yield list;
      }
      case 'M' -> readMap(in, depth + 1);
      default -> throw new IOException("unknown tag " + tag);
    };
  }

  /** Whether no character is cut in half. */
  private static boolean isWhole(String text) {
    return text.codePoints()
        .noneMatch(c -> c >= Character.MIN_SURROGATE && c <= Character.MAX_SURROGATE);
  }

  /** Every entry takes a byte at least. */
  private static int readSize(DataInputStream in) throws IOException {
    int size = in.readInt();
    if (size < 0 || size > in.available()) {
      throw new IOException("a size of " + size + " is beyond the end");
    }
    return size;
  }

  private static void writeText(DataOutputStream out, String text) throws IOException {
    writeBytes(out, text.getBytes(StandardCharsets.UTF_8));
  }

  private static String readText(DataInputStream in) throws IOException {
    return new String(readBytes(in), StandardCharsets.UTF_8);
  }

  private static void writeBytes(DataOutputStream out, byte[] bytes) throws IOException {
    out.writeInt(bytes.length);
    out.write(bytes);
  }

  private static byte[] readBytes(DataInputStream in) throws IOException {
    int length = in.readInt();
    if (length < 0 || length > in.available()) {
      throw new IOException("a length of " + length + " is beyond the end");
    }
    return in.readNBytes(length);
  }
}
