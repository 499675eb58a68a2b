package dev.pigeonhole.codec;

import org.jspecify.annotations.Nullable;

/**
 * Turns payloads into bytes and back. {@code byte[]} and {@code String} need no codec. An inbox
 * without an explicit codec uses the one that the class path offers through {@link
 * java.util.ServiceLoader}.
 *
 * <p>A codec never picks a class by itself: it decodes into the class it is given and into nothing
 * else, whatever the content says. It is used by many threads.
 */
public interface PayloadCodec {

  /** The media type of what {@link #encode} writes, such as {@code application/json}. */
  String contentType();

  /**
   * Writes a payload.
   *
   * @throws CodecException if it cannot be written
   */
  byte[] encode(Object payload);

  /**
   * Reads a payload into a fresh object.
   *
   * @param content the stored bytes; null where the message had no body
   * @param contentType the media type the message arrived with
   * @throws CodecException if it is not what the class needs, with the place where it went wrong
   */
  <T> @Nullable T decode(byte @Nullable [] content, String contentType, Class<T> type);
}
