package dev.pigeonhole.benchmarks.micro;

import dev.pigeonhole.Headers;
import dev.pigeonhole.internal.registry.HeaderFormat;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/** Headers to bytes and back, as a broker hands them over. */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Fork(1)
@Warmup(iterations = 5, time = 1)
@Measurement(iterations = 5, time = 1)
public class HeadersBenchmark {

  private final Headers headers =
      Headers.of(
          Map.of(
              "traceparent",
              "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
              "tenant",
              "north",
              "attempt",
              1L));

  private final byte[] encoded = HeaderFormat.encode(headers);

  @Benchmark
  public byte[] encode() {
    return HeaderFormat.encode(headers);
  }

  @Benchmark
  public Headers decode() {
    return HeaderFormat.decode(encoded);
  }
}
