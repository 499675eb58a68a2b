package dev.pigeonhole.store;

import dev.pigeonhole.admin.ConflictView;
import org.jspecify.annotations.Nullable;

/** A kept second copy with what it carries. */
public record SecondCopy(ConflictView view, byte @Nullable [] content, byte[] headers) {}
