package dev.pigeonhole.benchmarks.pigeonhole;

import dev.pigeonhole.benchmarks.inbox.Completions;
import dev.pigeonhole.benchmarks.inbox.Messages;
import dev.pigeonhole.benchmarks.subject.Run;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import java.lang.management.MemoryType;
import java.util.List;
import java.util.function.UnaryOperator;

/** Delivering a backlog. */
final class Draining {

  private static final double MIB = 1 << 20;

  private Draining() {}

  static long accepted(Run run) throws Exception {
    return drain(run, LoadedInbox::acceptAll);
  }

  /** A backlog that may be larger than the heap, of which the peak is told. */
  static long prefilled(Run run) throws Exception {
    Prefill.of(run).fresh();
    List<MemoryPoolMXBean> heap =
        ManagementFactory.getMemoryPoolMXBeans().stream()
            .filter(pool -> pool.getType() == MemoryType.HEAP)
            .toList();
    heap.forEach(MemoryPoolMXBean::resetPeakUsage);
    long completed = drain(run, loaded -> {});
    // Their peaks need not have been at the same time, so this is never too low.
    long peak = heap.stream().mapToLong(pool -> pool.getPeakUsage().getUsed()).sum();
    run.note("peakHeapMb", Math.round(peak / MIB));
    return completed;
  }

  /** What comes between building an inbox and starting it. */
  @FunctionalInterface
  private interface Filling {
    void fill(LoadedInbox loaded) throws Exception;
  }

  private static long drain(Run run, Filling filling) throws Exception {
    Messages messages = Messages.of(run);
    Completions completions = new Completions(messages, 1);
    Gate gate = new Gate();
    LoadedInbox.Effect handler =
        (any, payload) -> {
          gate.pass();
          completions.handled(0, payload);
        };
    try (LoadedInbox loaded =
        new LoadedInbox(
            run,
            messages,
            completions,
            1,
            LoadedInbox.channel(1, handler),
            UnaryOperator.identity())) {
      filling.fill(loaded);
      loaded.startOnBacklog();
      gate.awaitFirst();
      run.begin();
      gate.open();
      return loaded.finish();
    }
  }
}
