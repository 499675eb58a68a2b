package dev.pigeonhole.internal.registry;

import dev.pigeonhole.HandlerKey;
import dev.pigeonhole.MessageHandler;
import dev.pigeonhole.TransactionalHandler;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** A handler as it was declared. Exactly one of plain, transactional and batch is there. */
public record HandlerSpec(
    HandlerKey key,
    @Nullable MessageHandler<Object> plain,
    @Nullable TransactionalHandler<Object> transactional,
    @Nullable BatchSpec batch,
    Options options) {

  /**
   * What was chosen for it.
   *
   * @param retry null for the inbox's policy
   * @param timeout null for none
   * @param atMost null for the inbox's concurrency
   * @param sharedCommits 1 for a commit of its own
   * @param unordered whether it does not care for ordering keys
   * @param perSecond null for no limit
   * @param pausingAfter failures in a row; null for never
   * @param keep its own times of retention
   */
  public record Options(
      @Nullable Backoff retry,
      @Nullable Duration timeout,
      @Nullable Integer atMost,
      int sharedCommits,
      boolean unordered,
      @Nullable Double perSecond,
      @Nullable Integer pausingAfter,
      Keep keep) {}

  public boolean isTransactional() {
    return transactional != null;
  }

  /** How many deliveries a slot takes at once. */
  public int together() {
    return batch == null ? options.sharedCommits() : batch.most();
  }

  public @Nullable Backoff retry() {
    return options.retry();
  }

  public @Nullable Duration timeout() {
    return options.timeout();
  }

  public @Nullable Integer atMost() {
    return options.atMost();
  }

  public int sharedCommits() {
    return options.sharedCommits();
  }

  public boolean unordered() {
    return options.unordered();
  }

  public Keep keep() {
    return options.keep();
  }

  public @Nullable Integer pausingAfter() {
    return options.pausingAfter();
  }

  public @Nullable Double perSecond() {
    return options.perSecond();
  }
}
