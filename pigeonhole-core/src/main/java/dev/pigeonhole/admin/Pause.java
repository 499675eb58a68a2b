package dev.pigeonhole.admin;

import java.time.Instant;

/**
 * A handler that somebody has paused: its deliveries wait, and no attempt begins on any node.
 *
 * @param handler the key that it was paused under
 */
public record Pause(String handler, Instant since, String by, String reason) {}
