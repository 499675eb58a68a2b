package dev.pigeonhole.lease;

import org.jspecify.annotations.Nullable;

/**
 * What a {@link LeaseGuard} runs. It gets no connection: nothing that it does commits together with
 * the receipt.
 *
 * @param <X> what it throws; the compiler finds out
 */
@FunctionalInterface
public interface LeaseBody<R, X extends Exception> {
  /** Returning completes the key, throwing makes it free at once. */
  @Nullable R run(Lease lease) throws X;
}
