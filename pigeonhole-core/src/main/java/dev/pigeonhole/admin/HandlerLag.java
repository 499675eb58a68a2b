package dev.pigeonhole.admin;

import java.time.Duration;
import java.time.Instant;
import java.util.Optional;

/**
 * How far behind a handler is.
 *
 * @param handler the newest of its keys
 * @param oldest since when the oldest of its deliveries that could run has been ready; empty if
 *     there is none. Of those with a priority a store may look at the next in line only
 * @param lag how long ago that is, by the clock of the database; zero if there is none
 */
public record HandlerLag(String handler, Optional<Instant> oldest, Duration lag) {}
