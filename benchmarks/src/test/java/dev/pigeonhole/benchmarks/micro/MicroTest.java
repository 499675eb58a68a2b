package dev.pigeonhole.benchmarks.micro;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Collection;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.TimeValue;
import org.openjdk.jmh.runner.options.VerboseMode;

/** The few pieces without a database that every message passes run; how fast, says JMH. */
class MicroTest {

  @Test
  void everyPieceRuns() throws RunnerException {
    Collection<RunResult> results =
        new Runner(
                new OptionsBuilder()
                    .include(MicroTest.class.getPackageName())
                    .forks(0)
                    .warmupIterations(0)
                    .measurementIterations(1)
                    .measurementTime(TimeValue.milliseconds(20))
                    .shouldFailOnError(true)
                    .verbosity(VerboseMode.SILENT)
                    .build())
            .run();

    TreeSet<String> pieces = new TreeSet<>();
    for (RunResult each : results) {
      pieces.add(each.getPrimaryResult().getLabel());
      assertThat(each.getPrimaryResult().getScore()).isPositive();
    }
    assertThat(pieces)
        .containsExactly(
            "alone",
            "content",
            "decode",
            "encode",
            "idempotencyKey",
            "laneOfIdentity",
            "sharedBy64");
  }
}
