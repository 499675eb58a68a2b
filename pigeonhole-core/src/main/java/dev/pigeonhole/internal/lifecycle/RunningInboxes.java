package dev.pigeonhole.internal.lifecycle;

import dev.pigeonhole.RunningInbox;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Several inboxes, and the sources of direct channels, at work as one. */
public final class RunningInboxes implements RunningInbox {
  private final List<RunningInbox> parts;
  private final CountDownLatch closed = new CountDownLatch(1);

  private RunningInboxes(List<RunningInbox> parts) {
    this.parts = parts;
  }

  /** Starts all of them in order, or none. */
  public static RunningInbox start(List<Supplier<RunningInbox>> starts) {
    List<RunningInbox> parts = new ArrayList<>();
    try {
      for (Supplier<RunningInbox> start : starts) {
        parts.add(start.get());
      }
    } catch (RuntimeException | Error e) {
      closeAll(parts, e);
      throw e;
    }
    return new RunningInboxes(List.copyOf(parts));
  }

  /** Without inboxes there is nothing to stop but the wait. */
  @Override
  public void awaitStopped() throws InterruptedException {
    if (parts.isEmpty()) {
      closed.await();
    }
    for (RunningInbox part : parts) {
      part.awaitStopped();
    }
  }

  @Override
  public boolean healthy() {
    return closed.getCount() > 0 && parts.stream().allMatch(RunningInbox::healthy);
  }

  @Override
  public Map<String, String> sourceTroubles() {
    Map<String, String> troubles = new TreeMap<>();
    parts.forEach(part -> troubles.putAll(part.sourceTroubles()));
    return troubles;
  }

  @Override
  public void close() {
    try {
      Throwable failure = closeAll(parts, null);
      if (failure instanceof RuntimeException unchecked) {
        throw unchecked;
      }
      if (failure instanceof Error error) {
        throw error;
      }
    } finally {
      closed.countDown();
    }
  }

  /** Closes every one, whatever the others do; answers the first failure with the rest in it. */
  private static @Nullable Throwable closeAll(List<RunningInbox> parts, @Nullable Throwable first) {
    Throwable failure = first;
    for (RunningInbox part : parts) {
      try {
        part.close();
      } catch (RuntimeException | Error e) {
        if (failure == null) {
          failure = e;
        } else if (failure != e) {
          failure.addSuppressed(e);
        }
      }
    }
    return failure;
  }
}
