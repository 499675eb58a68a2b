package dev.pigeonhole.jackson;

import dev.pigeonhole.ConfigurationException;
import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.codec.StructuredCodec;
import org.jspecify.annotations.Nullable;

/**
 * The codec of an inbox that was given none: {@link JacksonCodec#create()} where Jackson 3 is on
 * the class path, otherwise {@link Jackson2Codec#create()}. Found by {@link
 * java.util.ServiceLoader}; applications name one of the two instead.
 */
public final class DefaultJsonCodec implements StructuredCodec {
  private final StructuredCodec codec;

  /**
   * Chooses.
   *
   * @throws ConfigurationException if there is no Jackson, or one that is too old: an inbox that
   *     cannot read its messages does not start. One that has only text and bytes does without
   */
  public DefaultJsonCodec() {
    codec = chosen();
  }

  private static StructuredCodec chosen() {
    try {
      if (ClassPath.has("tools.jackson.databind.json.JsonMapper")) {
        return Jackson3.codec();
      }
      if (ClassPath.has("com.fasterxml.jackson.databind.ObjectMapper")) {
        return Jackson2.codec();
      }
    } catch (LinkageError e) {
      throw new ConfigurationException(
          ErrorCode.PAYLOAD_TYPE_REFUSED,
          "The Jackson on the class path is too old or incomplete (%s). Use Jackson 3.1, or Jackson"
                  .formatted(e)
              + " 2.20 or newer.");
    }
    throw new ConfigurationException(
        ErrorCode.PAYLOAD_TYPE_REFUSED,
        "pigeonhole-jackson is on the class path without Jackson. Add"
            + " tools.jackson.core:jackson-databind, or com.fasterxml.jackson.core:jackson-databind"
            + " for Jackson 2; or give the inbox another codec with .codec(…).");
  }

  @Override
  public String contentType() {
    return codec.contentType();
  }

  @Override
  public byte[] encode(Object payload) {
    return codec.encode(payload);
  }

  @Override
  public <T> @Nullable T decode(byte @Nullable [] content, String contentType, Class<T> type) {
    return codec.decode(content, contentType, type);
  }

  @Override
  public @Nullable Object tree(byte[] content, String contentType) {
    return codec.tree(content, contentType);
  }

  @Override
  public boolean mayHave(Class<?> type, String path) {
    return codec.mayHave(type, path);
  }

  /** Names the codec in use. */
  @Override
  public String toString() {
    return "DefaultJsonCodec(" + codec.getClass().getSimpleName() + ")";
  }

  /** Linked only where Jackson 3 is present. */
  private static final class Jackson3 {
    static StructuredCodec codec() {
      return JacksonCodec.create();
    }
  }

  /** Linked only where Jackson 2 is present. */
  private static final class Jackson2 {
    static StructuredCodec codec() {
      return Jackson2Codec.create();
    }
  }
}
