package dev.pigeonhole.benchmarks.micro;

import dev.pigeonhole.internal.registry.Hashes;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/** What the edge computes of each message. */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Fork(1)
@Warmup(iterations = 5, time = 1)
@Measurement(iterations = 5, time = 1)
public class HashesBenchmark {

  @Param({"200", "500", "2000"})
  public int bytes;

  private byte[] content = new byte[0];
  private String id = "";

  @Setup
  public void fill() {
    Random random = new Random(1);
    content = new byte[bytes];
    random.nextBytes(content);
    id = "order-" + random.nextInt(1_000_000);
  }

  @Benchmark
  public byte[] content() {
    return Hashes.content("application/json", content);
  }

  @Benchmark
  public int laneOfIdentity() {
    return Hashes.lane(Hashes.identity("shop", id), 64);
  }

  @Benchmark
  public String idempotencyKey() {
    return Hashes.idempotencyKey("shop", id, "reserve-stock");
  }
}
