package dev.pigeonhole.store;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Late work that is due.
 *
 * @param rows due deliveries, oldest due time first
 * @param untilNext time by the database's clock until the next row of these ranges falls due; empty
 *     when nothing waits for a time. Zero when more is due than the limit let through.
 * @param cut the position of the last row, for each cell of which more is due than the limit let
 *     through
 */
public record DueRead(
    List<Delivery> rows, Optional<Duration> untilNext, Map<Cell, DuePosition> cut) {}
