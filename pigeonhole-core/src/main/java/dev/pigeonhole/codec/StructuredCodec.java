package dev.pigeonhole.codec;

import org.jspecify.annotations.Nullable;

/**
 * A codec of a format with named fields, such as JSON, that can show content without a class. It is
 * needed where a business key is the hash of the content, or is found by a JSON pointer.
 */
public interface StructuredCodec extends PayloadCodec {

  /**
   * Reads content into maps by text, lists, texts, booleans and null; whole numbers become {@link
   * java.math.BigInteger}, others {@link java.math.BigDecimal}, without losing a digit.
   *
   * @throws CodecException as {@link #decode} does
   */
  @Nullable Object tree(byte[] content, String contentType);

  /**
   * Whether a payload of this class can have this field in its content, as far as the class tells.
   * True in doubt: an application that names a field without such content refuses to start.
   *
   * @param path names as they stand in the content, with dots to go further in; what lies in a list
   *     is reached by the name of the list
   */
  default boolean mayHave(Class<?> type, String path) {
    return true;
  }
}
