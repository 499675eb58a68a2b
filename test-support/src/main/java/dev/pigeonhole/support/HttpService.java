package dev.pigeonhole.support;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.function.IntFunction;
import org.jspecify.annotations.Nullable;

/**
 * A service in a process of its own that is asked over HTTP, and can be killed and started again at
 * the same port. Safe for many threads that ask; one starts and kills.
 */
public final class HttpService implements AutoCloseable {

  private static final Duration START_LIMIT = Duration.ofMinutes(10);
  private static final Duration ANSWER_LIMIT = Duration.ofMinutes(5);

  /** What it has answered. */
  public record Answer(int status, String body) {}

  private final int port = Ports.free();
  private final HttpClient client =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
  private final IntFunction<JavaProcess.Builder> command;
  private @Nullable JavaProcess process;

  /**
   * Describes it; nothing runs yet.
   *
   * @param command what to run, for the port that it is to listen at
   */
  public HttpService(IntFunction<JavaProcess.Builder> command) {
    this.command = command;
  }

  /** Starts it, and returns when it answers at this path with 200. */
  public void start(String path, Object... moreArguments) {
    JavaProcess started = command.apply(port).args(moreArguments).start();
    process = started;
    Eventually.until(
        "an answer at " + path, START_LIMIT, () -> !started.isAlive() || isThere(path));
    if (!started.isAlive()) {
      throw new AssertionError("It has ended:\n" + String.join("\n", started.output()));
    }
  }

  private boolean isThere(String path) throws InterruptedException {
    try {
      return get(path).status() == 200;
    } catch (IOException e) {
      return false; // nobody listens yet
    }
  }

  /** The process that was started last. */
  public JavaProcess process() {
    if (process == null) {
      throw new IllegalStateException("It was never started");
    }
    return process;
  }

  public Answer get(String path) throws IOException, InterruptedException {
    return send(request(path).GET());
  }

  public Answer post(String path, String json) throws IOException, InterruptedException {
    return send(
        request(path)
            .header("Content-Type", "application/json")
            .POST(BodyPublishers.ofString(json)));
  }

  private HttpRequest.Builder request(String path) {
    return HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + path))
        .timeout(ANSWER_LIMIT);
  }

  private Answer send(HttpRequest.Builder request) throws IOException, InterruptedException {
    HttpResponse<String> response = client.send(request.build(), BodyHandlers.ofString());
    return new Answer(response.statusCode(), response.body());
  }

  /** Kills the process if one lives. */
  @Override
  public void close() {
    if (process != null) {
      process.close();
    }
  }
}
