package dev.pigeonhole.store;

import dev.pigeonhole.admin.ConflictView;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/** A kept second copy with what it carries. */
public record SecondCopy(
    ConflictView view,
    byte @Nullable [] content,
    byte[] headers,
    @Nullable String orderingKey,
    @Nullable Instant occurredAt) {}
