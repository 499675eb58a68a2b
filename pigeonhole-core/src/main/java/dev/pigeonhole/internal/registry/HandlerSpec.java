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
   * @param inline whether it runs where messages are handed in
   * @param selector finds the business key of its messages; null for what the type says
   */
  public record Options(
      @Nullable Backoff retry,
      @Nullable Duration timeout,
      @Nullable Integer atMost,
      int sharedCommits,
      boolean unordered,
      @Nullable Double perSecond,
      @Nullable Integer pausingAfter,
      Keep keep,
      boolean inline,
      @Nullable KeyReader selector) {

    Options inlined() {
      return new Options(
          retry,
          timeout,
          atMost,
          sharedCommits,
          unordered,
          perSecond,
          pausingAfter,
          keep,
          true,
          selector);
    }
  }

  /** The same handler, run by whoever hands a message in. */
  public HandlerSpec inlined() {
    return new HandlerSpec(key, plain, transactional, batch, options.inlined());
  }

  public boolean inline() {
    return options.inline();
  }

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

  /** Null for the inbox's concurrency. What is left of an inline handler's past runs alone. */
  public @Nullable Integer atMost() {
    return inline() ? Integer.valueOf(1) : options.atMost();
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

  public @Nullable KeyReader selector() {
    return options.selector();
  }

  /** Whether it takes messages as the bytes that were stored, to pass them on. */
  public boolean takesEncoded() {
    return batch != null && batch.encoded();
  }

  public @Nullable Integer pausingAfter() {
    return options.pausingAfter();
  }

  public @Nullable Double perSecond() {
    return options.perSecond();
  }
}
