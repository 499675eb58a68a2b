package dev.pigeonhole.store;

import java.util.Map;
import java.util.Set;

/**
 * The result of a load. If a number is in neither of the two, its message no longer exists.
 *
 * @param messages by number
 * @param left the numbers of messages that were left out because of the limit of bytes
 */
public record Loaded(Map<Long, StoredMessage> messages, Set<Long> left) {}
