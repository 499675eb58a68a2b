package dev.pigeonhole.jdbc;

import dev.pigeonhole.OnConflict;
import dev.pigeonhole.store.HandlerId;
import dev.pigeonhole.store.NewMessage;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Messages as an inbox would hand them to the store, each with the lane that a test wants. */
public final class Messages {
  private Messages() {}

  /** One that takes its turn by its number. */
  public static NewMessage plain(String id, int lane, String content, HandlerId... handlers) {
    return message(id, lane, null, content, 0, handlers);
  }

  /** One that has an ordering key, see {@link #key}. */
  public static NewMessage ordered(
      String id, int lane, long keyHash, String content, HandlerId... handlers) {
    return message(id, lane, keyHash, content, 0, handlers);
  }

  /** One with a place of its own. */
  public static NewMessage placed(
      String id, int lane, long place, String content, HandlerId... handlers) {
    return message(id, lane, null, content, place, handlers);
  }

  /** The ordering key that has this hash. */
  public static String key(long keyHash) {
    return "key-" + keyHash;
  }

  private static NewMessage message(
      String id,
      int lane,
      @Nullable Long keyHash,
      String content,
      long place,
      HandlerId... handlers) {
    return new NewMessage(
        "test",
        id,
        "type",
        List.of("type"),
        "channel",
        "local",
        lane,
        keyHash,
        keyHash == null ? null : key(keyHash),
        content.getBytes(StandardCharsets.UTF_8),
        "text/plain",
        new byte[0],
        Arrays.copyOf(Integer.toString(content.hashCode()).getBytes(StandardCharsets.UTF_8), 16),
        OnConflict.KEEP,
        null,
        null,
        List.of(handlers),
        place);
  }
}
