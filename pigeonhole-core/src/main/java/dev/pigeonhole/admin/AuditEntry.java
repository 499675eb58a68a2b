package dev.pigeonhole.admin;

import java.time.Instant;

/**
 * Something that an operator, or retention, has done.
 *
 * @param subject what it was done to
 */
public record AuditEntry(
    long number, Instant at, String by, String action, String reason, String subject) {}
