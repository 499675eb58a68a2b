package dev.pigeonhole.benchmarks.micro;

import dev.pigeonhole.OnConflict;
import dev.pigeonhole.internal.dispatch.GroupAcceptor;
import dev.pigeonhole.store.AcceptResult;
import dev.pigeonhole.store.Acceptor;
import dev.pigeonhole.store.NewMessage;
import java.sql.Connection;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Threads;
import org.openjdk.jmh.annotations.Warmup;
import org.openjdk.jmh.infra.Blackhole;

/** What it costs callers to share commits, with a store that takes its time and nothing else. */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.Throughput)
@OutputTimeUnit(TimeUnit.SECONDS)
@Fork(1)
@Warmup(iterations = 5, time = 1)
@Measurement(iterations = 5, time = 1)
public class GroupAcceptorBenchmark {

  /** About as long as a statement that inserts a few rows. */
  private static final int WORK = 100_000;

  private static final int GROUP = 500;

  private final GroupAcceptor acceptor = new GroupAcceptor(new Busy(), GROUP);

  private final List<NewMessage> one =
      List.of(
          new NewMessage(
              "shop",
              "order-1",
              "order",
              List.of("order"),
              "orders",
              "local",
              0,
              null,
              null,
              null,
              "text/plain",
              new byte[0],
              new byte[16],
              OnConflict.KEEP,
              null,
              null,
              List.of(),
              0));

  @Benchmark
  @Threads(1)
  public List<AcceptResult> alone() {
    return acceptor.accept(one);
  }

  @Benchmark
  @Threads(64)
  public List<AcceptResult> sharedBy64() {
    return acceptor.accept(one);
  }

  private static final class Busy implements Acceptor {
    private static final AcceptResult STORED = new AcceptResult.Stored(1, 0);

    @Override
    public List<AcceptResult> accept(List<NewMessage> batch) {
      Blackhole.consumeCPU(WORK);
      return Collections.nCopies(batch.size(), STORED);
    }

    @Override
    public List<AcceptResult> acceptTogether(List<NewMessage> batch) {
      return accept(batch);
    }

    @Override
    public List<AcceptResult> accept(Connection connection, List<NewMessage> batch) {
      throw new UnsupportedOperationException();
    }
  }
}
