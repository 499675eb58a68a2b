package dev.pigeonhole.internal.registry;

import dev.pigeonhole.Headers;
import org.jspecify.annotations.Nullable;

/** What a business key can be taken from. Each part is made when somebody asks for it. */
public interface KeySubject {

  Headers headers();

  /** The object that handlers get; null without a body. */
  @Nullable Object payload();

  /** The content as it came, in maps, lists and values; null without a body. */
  @Nullable Object content();

  /** The payload as the codec writes it, in maps, lists and values; null without a body. */
  @Nullable Object fields();
}
