package dev.pigeonhole.lease;

import org.jspecify.annotations.Nullable;

/**
 * What a finished run leaves behind for repeats. Stores keep it as it is and look at nothing in it.
 *
 * @param request the hash of what was asked; empty where nobody gave it
 * @param contentType the media type of the answer; empty without one
 * @param answer null where no answer is kept
 */
public record Completion(byte[] request, String contentType, byte @Nullable [] answer) {}
