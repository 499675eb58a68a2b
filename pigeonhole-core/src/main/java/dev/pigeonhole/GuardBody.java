package dev.pigeonhole;

import org.jspecify.annotations.Nullable;

/**
 * What a {@link Guard} runs once. It may be called again after a deadlock or a lost connection,
 * when nothing of the first call was kept.
 *
 * @param <X> what it throws; the compiler finds out
 */
@FunctionalInterface
public interface GuardBody<R, X extends Exception> {
  /**
   * Returning commits writes and receipt, throwing rolls both back; see {@link
   * GuardBuilder#keepFailures} for failures that leave a receipt.
   */
  @Nullable R run(GuardTransaction tx) throws X;
}
