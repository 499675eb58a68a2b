package dev.pigeonhole.benchmarks;

import dev.pigeonhole.benchmarks.subject.SubjectMain;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** A JVM of its own with one subject in it, which is asked and answers; it ends with our pipe. */
final class SubjectProcess implements AutoCloseable {

  private static final String HEAP_OF_EVERYBODY = "1g";
  private static final String END = "";
  private static final List<String> ANSWERS = List.of("about ", "done ", "failed ");

  private final Process process;
  private final Writer requests;
  private final BlockingQueue<String> answers = new LinkedBlockingQueue<>();

  private SubjectProcess(Process process) {
    this.process = process;
    this.requests = process.outputWriter(StandardCharsets.UTF_8);
    Thread reader = new Thread(this::readAnswers, "answers-" + process.pid());
    reader.setDaemon(true);
    reader.start();
  }

  /** It did not do what it was asked for. */
  static final class SubjectException extends Exception {
    private static final long serialVersionUID = 1L;

    SubjectException(String message) {
      super(message);
    }
  }

  /** Starts the class on its class path; what it prints by the way is appended to the log. */
  static SubjectProcess start(String className, String classPath, int heapMegabytes, Path log) {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    if (heapMegabytes > 0) {
      command.add("-Xmx" + heapMegabytes + "m");
    } else {
      command.add("-Xms" + HEAP_OF_EVERYBODY);
      command.add("-Xmx" + HEAP_OF_EVERYBODY);
    }
    command.add("-XX:-UsePerfData");
    command.add("-XX:+DisplayVMOutputToStderr");
    command.add("-Djava.io.tmpdir=" + System.getProperty("java.io.tmpdir"));
    command.add(SubjectMain.class.getName());
    command.add(className);
    ProcessBuilder builder =
        new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.appendTo(log.toFile()));
    // In the environment it may be as long as it likes.
    builder.environment().put("CLASSPATH", classPath);
    try {
      return new SubjectProcess(builder.start());
    } catch (IOException e) {
      throw new UncheckedIOException("Cannot start " + className, e);
    }
  }

  private void readAnswers() {
    try (BufferedReader reader =
        new BufferedReader(
            new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
      for (String line = reader.readLine(); line != null; line = reader.readLine()) {
        if (ANSWERS.stream().anyMatch(line::startsWith)) { // and no remark of the JVM
          answers.add(line);
        }
      }
    } catch (IOException e) {
      // The pipe broke with the process.
    }
    answers.add(END);
  }

  /**
   * Sends a line and returns the values of the answer.
   *
   * @param whileWaiting called twice a second
   */
  Map<String, String> ask(String line, double limitSeconds, Runnable whileWaiting)
      throws SubjectException, InterruptedException {
    try {
      requests.write(line + "\n");
      requests.flush();
    } catch (IOException e) {
      throw new SubjectException("its process has ended");
    }
    String answer = await(limitSeconds, whileWaiting);
    Map<String, String> values = SubjectMain.decode(answer);
    if (answer.startsWith("failed")) {
      throw new SubjectException(values.getOrDefault("reason", "it did not say why"));
    }
    return values;
  }

  private String await(double limitSeconds, Runnable whileWaiting)
      throws SubjectException, InterruptedException {
    long deadline = System.nanoTime() + (long) (limitSeconds * 1e9);
    while (System.nanoTime() < deadline) {
      @Nullable String answer = answers.poll(500, TimeUnit.MILLISECONDS);
      if (answer == null) {
        whileWaiting.run();
      } else if (answer.equals(END)) {
        throw new SubjectException(
            "its process has ended" + (process.isAlive() ? "" : " with " + process.exitValue()));
      } else {
        return answer;
      }
    }
    throw new SubjectException("no answer within %.0f seconds".formatted(limitSeconds));
  }

  /** Kills it if it does not end by itself. */
  @Override
  public void close() {
    try {
      requests.close();
    } catch (IOException e) {
      // It has gone already.
    }
    try {
      if (process.waitFor(5, TimeUnit.SECONDS)) {
        return;
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    process.descendants().forEach(ProcessHandle::destroyForcibly);
    process.destroyForcibly();
  }
}
