package dev.pigeonhole.admin;

/**
 * What a message carries. It may be sensitive, so it does not show itself: {@link #toString} tells
 * only what kind it is and how much, and whoever prints {@link #bytes} does so on purpose.
 */
public record Content(byte[] bytes, String contentType) {

  @Override
  public String toString() {
    return "Content[%s, %,d bytes]".formatted(contentType, bytes.length);
  }
}
