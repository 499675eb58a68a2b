package dev.pigeonhole;

/** Handles several messages with one call, for whoever stands behind it takes them that way. */
@FunctionalInterface
public interface BatchHandler<T> {
  /** Returning completes what was not failed; throwing fails all that was not failed before. */
  void handle(Batch<T> batch) throws Exception;
}
