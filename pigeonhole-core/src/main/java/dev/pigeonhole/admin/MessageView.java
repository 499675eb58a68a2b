package dev.pigeonhole.admin;

import dev.pigeonhole.MessageRef;
import java.time.Instant;
import java.util.Optional;

/**
 * One message as an operator sees it in a list.
 *
 * @param transport how it came in: {@code local}, {@code rabbitmq}, …
 * @param bytes the size of its content; empty when retention has dropped it, or there was none
 * @param repeats how often it came again; a flood is counted once a second
 * @param lastRepeatAt when it last came again
 */
public record MessageView(
    MessageRef message,
    String type,
    String channel,
    String transport,
    Optional<String> orderingKey,
    Optional<Long> bytes,
    Instant receivedAt,
    int repeats,
    Optional<Instant> lastRepeatAt) {}
