/** Meters, observations and traces of inboxes, guards and outboxes. */
@NullMarked
package dev.pigeonhole.micrometer;

import org.jspecify.annotations.NullMarked;
