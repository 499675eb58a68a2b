package dev.pigeonhole;

/** The identity of a message: an id that is unique within its source, compared byte for byte. */
public record MessageRef(String source, String id) {
  @Override
  public String toString() {
    return source + "/" + id;
  }
}
