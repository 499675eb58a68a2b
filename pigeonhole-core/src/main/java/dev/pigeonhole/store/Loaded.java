package dev.pigeonhole.store;

import java.util.Map;
import java.util.Set;

/**
 * What a load has brought. A number that is in neither of the two belongs to no message any more.
 *
 * @param messages by number
 * @param left the numbers of messages that would have been too much at once
 */
public record Loaded(Map<Long, StoredMessage> messages, Set<Long> left) {}
