package dev.pigeonhole.internal.registry;

import dev.pigeonhole.HandlerKey;
import dev.pigeonhole.MessageHandler;
import dev.pigeonhole.TransactionalHandler;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * A handler as it was declared. Exactly one of {@code plain} and {@code transactional} is there.
 *
 * @param retry null for the inbox's policy
 * @param timeout null for none
 * @param atMost null for the inbox's concurrency
 * @param sharedCommits 1 for a commit of its own
 * @param unordered whether it does not care for ordering keys
 */
public record HandlerSpec(
    HandlerKey key,
    @Nullable MessageHandler<Object> plain,
    @Nullable TransactionalHandler<Object> transactional,
    @Nullable Backoff retry,
    @Nullable Duration timeout,
    @Nullable Integer atMost,
    int sharedCommits,
    boolean unordered) {

  public boolean isTransactional() {
    return transactional != null;
  }
}
