package dev.pigeonhole.internal.registry;

import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * An older form of a message type, and how it becomes the present one.
 *
 * @param name the logical name that messages of the older form carry
 * @param type what they are decoded into
 */
public record Upcast(String name, Class<?> type, Function<Object, @Nullable Object> change) {}
