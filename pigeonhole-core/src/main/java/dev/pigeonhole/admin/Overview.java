package dev.pigeonhole.admin;

import java.util.List;

/**
 * How an inbox stands at one moment, for whoever watches it from afar. What it costs is bounded,
 * whatever waits.
 *
 * @param counts deliveries per handler key and state
 * @param lag how far behind each handler is
 * @param ownedLanes lanes that a living node owns, over all handlers
 * @param unownedLanes lanes that nobody works on, of handlers that a living node knows; those of
 *     guards and of handlers that are gone have no owner and need none. Of all handlers while no
 *     node lives
 * @param conflicts second copies that wait for an operator
 */
public record Overview(
    List<HandlerCounts> counts,
    List<HandlerLag> lag,
    int ownedLanes,
    int unownedLanes,
    Count conflicts) {}
