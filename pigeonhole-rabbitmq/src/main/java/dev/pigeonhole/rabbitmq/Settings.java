package dev.pigeonhole.rabbitmq;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * What one source was told.
 *
 * @param deadLetters the exchange for what is refused; null if there is none
 * @param deadLetterKey the routing key there
 * @param maxRetries how often what is for later goes to the retry queue; 0 to keep it here
 * @param retryDelay for how long it stays there
 */
record Settings(
    Connector connector,
    String queue,
    int prefetch,
    int batch,
    Duration gather,
    int maxBody,
    @Nullable String deadLetters,
    String deadLetterKey,
    int maxRetries,
    Duration retryDelay,
    Duration firstReconnect,
    Duration lastReconnect,
    Duration longestOutage,
    Duration longestParking) {}
