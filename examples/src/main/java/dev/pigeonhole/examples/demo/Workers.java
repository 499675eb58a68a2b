package dev.pigeonhole.examples.demo;

import static java.nio.charset.StandardCharsets.US_ASCII;

import dev.pigeonhole.support.JavaProcess;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/** The worker processes, seen by the demo: started, asked, killed and replaced. */
final class Workers implements AutoCloseable {

  private static final Duration STOP_LIMIT = Duration.ofSeconds(45);
  private static final int ANSWER_LIMIT_MILLIS = 30_000;

  private final Options options;
  private final Database database;
  private final Path directory;
  private final ServerSocket server;
  private final BlockingQueue<Link> idle = new LinkedBlockingQueue<>();
  private final List<JavaProcess> processes = new ArrayList<>(); // also the monitor of `closed`
  private boolean closed;

  Workers(Options options, Database database, Path directory) throws IOException {
    this.options = options;
    this.database = database;
    this.directory = directory;
    this.server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
  }

  void start() {
    Thread doorman = new Thread(this::welcome, "doorman");
    doorman.setDaemon(true);
    doorman.start();
    synchronized (processes) {
      for (int i = 0; i < options.workers() && !closed; i++) {
        processes.add(launch());
      }
    }
  }

  private JavaProcess launch() {
    return JavaProcess.of(Worker.class)
        .heap("512m")
        .option("-XX:-UsePerfData")
        // H2 reads a union by recursion, and the inbox asks it for many ranges at once.
        .option("-Xss16m")
        .systemProperty("java.io.tmpdir", directory.toString())
        .args(server.getLocalPort(), directory)
        .args(database.toArguments().toArray())
        .args(options.toArguments().toArray())
        .start();
  }

  private void welcome() {
    try {
      while (true) {
        idle.add(new Link(server.accept()));
      }
    } catch (IOException e) {
      // Closed: the run is over.
    }
  }

  /**
   * Asks any worker, and another one if that dies before it has answered. So what is asked may
   * happen twice; telling the second time from the first is what an inbox is for.
   */
  String ask(String request) throws InterruptedException {
    while (true) {
      String answer = ask(request, Duration.ofSeconds(1));
      if (answer != null) {
        return answer;
      }
    }
  }

  /** Asks one worker; null if none had time, or it died before it answered. */
  @Nullable String ask(String request, Duration patience) throws InterruptedException {
    Link link = idle.poll(patience.toMillis(), TimeUnit.MILLISECONDS);
    if (link == null) {
      return null;
    }
    String answer = link.ask(request);
    if (answer != null) {
      idle.add(link);
    }
    return answer;
  }

  /** Kills a random worker without a warning and starts another one in its place. */
  void killOne(RandomGenerator dice) {
    synchronized (processes) {
      if (!closed) {
        int victim = dice.nextInt(processes.size());
        processes.get(victim).kill9();
        processes.set(victim, launch());
      }
    }
  }

  /** Fails if a worker has ended that nobody killed. */
  void checkAlive() {
    synchronized (processes) {
      for (JavaProcess process : processes) {
        if (!closed && !process.isAlive()) {
          List<String> output = process.output();
          throw new IllegalStateException(
              "a worker ended by itself with exit code %d:%n%s"
                  .formatted(
                      process.exitCode(),
                      String.join(
                          "\n", output.subList(Math.max(0, output.size() - 40), output.size()))));
        }
      }
    }
  }

  /** What the living ones have printed: warnings of the library. */
  List<String> output() {
    synchronized (processes) {
      return processes.stream().flatMap(process -> process.output().stream()).toList();
    }
  }

  /** Lets all workers end in order. */
  void stop() {
    synchronized (processes) {
      processes.forEach(JavaProcess::terminate);
      processes.forEach(process -> process.waitFor(STOP_LIMIT));
      closed = true;
    }
  }

  @Override
  public void close() throws IOException {
    synchronized (processes) {
      closed = true;
      processes.forEach(JavaProcess::kill9);
    }
    server.close();
  }

  /** One connection of one worker; used by one thread at a time. */
  private static final class Link {

    private final Socket socket;
    private final BufferedReader in;
    private final PrintStream out;

    Link(Socket socket) throws IOException {
      this.socket = socket;
      socket.setSoTimeout(ANSWER_LIMIT_MILLIS);
      this.in = new BufferedReader(new InputStreamReader(socket.getInputStream(), US_ASCII));
      this.out = new PrintStream(socket.getOutputStream(), true, US_ASCII);
    }

    @Nullable String ask(String request) {
      try {
        out.print(request + "\n");
        out.flush();
        String answer = in.readLine();
        if (answer == null) {
          socket.close();
        }
        return answer;
      } catch (IOException e) {
        try {
          socket.close();
        } catch (IOException again) {
          e.addSuppressed(again);
        }
        return null;
      }
    }
  }
}
