package dev.pigeonhole.benchmarks.pigeonhole;

import dev.pigeonhole.benchmarks.inbox.InboxTables;
import dev.pigeonhole.benchmarks.inbox.Messages;
import dev.pigeonhole.benchmarks.subject.Run;
import dev.pigeonhole.benchmarks.subject.SubjectMain;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;

/** Another JVM like this one, in which {@link WorkerMain} handles messages. */
final class WorkerProcess implements AutoCloseable {

  private static final int WARM_UP = 10_000;

  private final Process process;
  private final PrintStream orders;
  private final BufferedReader answers;

  private WorkerProcess(Process process) {
    this.process = process;
    this.orders = new PrintStream(process.getOutputStream(), true, StandardCharsets.UTF_8);
    this.answers =
        new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
  }

  /**
   * @param more what it is told beside the database of the run
   */
  static WorkerProcess start(Run run, Map<String, String> more) throws IOException {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(ManagementFactory.getRuntimeMXBean().getInputArguments());
    command.add(WorkerMain.class.getName());
    ProcessBuilder builder =
        new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT);
    builder.environment().put("CLASSPATH", System.getProperty("java.class.path"));
    WorkerProcess worker = new WorkerProcess(builder.start());
    Map<String, String> order = new TreeMap<>(more);
    order.put("url", run.jdbcUrl());
    order.put("user", run.user());
    order.put("password", run.password());
    order.put("messages", Integer.toString(run.messages()));
    worker.orders.println(SubjectMain.encode("work", order)); // not as an argument, for all to see
    return worker;
  }

  /** Returns when its inbox has started. */
  void awaitReady() throws IOException {
    answer();
  }

  /** Lets workers handle other messages first: unlike this process, they are new. */
  static void warmUp(Run run, int workers) throws Exception {
    int enough = Math.min(run.messages(), workers * WARM_UP);
    try (LoadedInbox loaded = LoadedInbox.counting(run, Messages.before(run, enough), 1);
        InboxTables tables = new InboxTables(run.connect())) {
      loaded.acceptAll();
      tables.awaitReceipts(enough);
    }
  }

  /** Lets its handlers begin. */
  void open() {
    orders.println("open");
  }

  /** Stops it in order. */
  Map<String, String> end() throws IOException {
    orders.println("end");
    return SubjectMain.decode(answer());
  }

  private String answer() throws IOException {
    String line = answers.readLine();
    if (line == null) {
      throw new IllegalStateException("A worker has ended without an answer");
    }
    return line;
  }

  /** Handlers were called once for each message, whichever worker it was. */
  static void checkCalls(int messages, List<Map<String, String>> reports) {
    long calls = reports.stream().mapToLong(report -> Long.parseLong(report.get("calls"))).sum();
    if (calls != messages) {
      throw new IllegalStateException("%d calls for %d messages".formatted(calls, messages));
    }
  }

  @Override
  public void close() {
    orders.close(); // it ends with its input
    try {
      if (!process.waitFor(30, TimeUnit.SECONDS)) {
        process.destroyForcibly();
      }
    } catch (InterruptedException e) {
      process.destroyForcibly();
      Thread.currentThread().interrupt();
    }
  }
}
