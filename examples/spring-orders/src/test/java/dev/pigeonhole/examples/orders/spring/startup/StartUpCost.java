package dev.pigeonhole.examples.orders.spring.startup;

import dev.pigeonhole.support.JavaProcess;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.ToLongFunction;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * What the starter adds to the start of a Spring Boot application: two applications start in turn,
 * one with an inbox and one that has never heard of it, and the medians are printed: how long it
 * took, and how much of a processor, which a busy machine changes less. After {@code mvn -pl
 * examples/spring-orders -am test-compile}, in the directory of this module:
 *
 * <pre>{@code
 * java -cp target/test-classes:../../test-support/target/classes \
 *     dev.pigeonhole.examples.orders.spring.startup.StartUpCost
 * }</pre>
 */
final class StartUpCost {
  private static final int ROUNDS = 7;
  private static final Duration LIMIT = Duration.ofMinutes(5);
  private static final Pattern STARTED = Pattern.compile("\\(process running for ([0-9.]+)\\)");

  private StartUpCost() {}

  public static void main(String[] args) throws IOException {
    List<String> libraries =
        Arrays.asList(
            Files.readString(Path.of("target/runtime.classpath"))
                .strip()
                .split(File.pathSeparator));
    Path databases = Files.createTempDirectory(Path.of("target").toAbsolutePath(), "start-up-");
    List<Start> with = new ArrayList<>();
    List<Start> without = new ArrayList<>();
    for (int i = 0; i <= ROUNDS; i++) {
      Start inbox = start(InboxApplication.class, libraries, databases);
      Start bare =
          start(
              BareApplication.class,
              libraries.stream().filter(each -> !each.contains("pigeonhole-")).toList(),
              databases);
      System.out.printf("%s with %s, without %s%n", i == 0 ? "first" : i, inbox, bare);
      if (i > 0) { // the first has made the tables, and brought files into memory
        with.add(inbox);
        without.add(bare);
      }
    }
    Start inbox = median(with);
    Start bare = median(without);
    System.out.printf(
        "medians of %d: with %s, without %s, difference %s%n",
        ROUNDS, inbox, bare, inbox.minus(bare));
  }

  /** What a start took, in milliseconds. */
  private record Start(long wall, long processor) {
    Start minus(Start other) {
      return new Start(wall - other.wall, processor - other.processor);
    }

    @Override
    public String toString() {
      return "%d ms (%d ms of a processor)".formatted(wall, processor);
    }
  }

  /** From the start of the JVM until Spring Boot says that it is up, by its own word. */
  private static Start start(Class<?> application, List<String> libraries, Path databases) {
    String classPath =
        libraries.stream()
            .collect(
                Collectors.joining(
                    File.pathSeparator,
                    Path.of("target/test-classes").toAbsolutePath() + File.pathSeparator,
                    ""));
    try (JavaProcess process =
        JavaProcess.of(application)
            .classPath(classPath)
            .args(
                "--server.port=0",
                "--spring.datasource.url=jdbc:h2:file:%s/%s;WRITE_DELAY=0"
                    .formatted(databases, application.getSimpleName()),
                "--spring.datasource.hikari.maximum-pool-size=20",
                "--spring.jpa.hibernate.ddl-auto=none",
                "--spring.jpa.open-in-view=false",
                "--pigeonhole.jdbc.initialize-schema=always")
            .start()) {
      Matcher line = STARTED.matcher(process.awaitLine("process running for", LIMIT));
      if (!line.find()) {
        throw new AssertionError("Spring Boot says it in other words now");
      }
      Duration processor =
          ProcessHandle.of(process.pid())
              .flatMap(each -> each.info().totalCpuDuration())
              .orElse(Duration.ZERO);
      return new Start(Math.round(Double.parseDouble(line.group(1)) * 1_000), processor.toMillis());
    }
  }

  private static Start median(List<Start> starts) {
    return new Start(median(starts, Start::wall), median(starts, Start::processor));
  }

  private static long median(List<Start> starts, ToLongFunction<Start> of) {
    return starts.stream().mapToLong(of).sorted().skip(starts.size() / 2).findFirst().orElseThrow();
  }
}
