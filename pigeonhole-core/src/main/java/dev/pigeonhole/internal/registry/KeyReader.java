package dev.pigeonhole.internal.registry;

import dev.pigeonhole.codec.StructuredCodec;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** One way to find the business key of a message. */
public interface KeyReader {

  /** The key; null or blank where there is none. */
  @Nullable String read(KeySubject subject);

  /** Where it looks, for people; empty where only code knows. */
  default String place() {
    return "";
  }

  /** What is wrong with it for payloads of this class, each with its way out. */
  default List<String> problems(Class<?> type) {
    return List.of();
  }

  /**
   * What is wrong with it as far as only the codec can tell.
   *
   * @param codec null where there is none that can show content
   */
  default List<String> problems(Class<?> type, @Nullable StructuredCodec codec) {
    return List.of();
  }
}
