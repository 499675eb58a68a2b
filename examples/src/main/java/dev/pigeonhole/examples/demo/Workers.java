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
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.random.RandomGenerator;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The worker processes, seen by the demo: started, asked, killed and replaced. */
final class Workers implements Intake, AutoCloseable {

  private static final int ANSWER_LIMIT_MILLIS = 30_000;

  private final Options options;
  private final Database database;
  private final Broker broker;
  private final Path directory;
  private final ServerSocket server;
  private final BlockingQueue<Link> idle = new LinkedBlockingQueue<>();
  private final Fleet processes = new Fleet("a worker", this::launch);

  Workers(Options options, Database database, Broker broker, Path directory) throws IOException {
    this.options = options;
    this.database = database;
    this.broker = broker;
    this.directory = directory;
    this.server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
  }

  void start() {
    Thread doorman = new Thread(this::welcome, "doorman");
    doorman.setDaemon(true);
    doorman.start();
    processes.start(options.workers());
  }

  private JavaProcess launch() {
    return JavaProcess.of(Worker.class)
        .heap("512m")
        .option("-XX:-UsePerfData")
        .systemProperty("java.io.tmpdir", directory.toString())
        .args(server.getLocalPort(), directory)
        .args(database.toArguments().toArray())
        .args(broker.address())
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

  @Override
  public List<Answer> bring(List<Copy> batch) throws InterruptedException {
    String request = batch.stream().map(Copy::toWord).collect(Collectors.joining(" "));
    String answer = ask(request);
    while (answer.startsWith(Answer.FAILED)) {
      // The store could not say that it has them: they come again, as from any transport.
      Thread.sleep(100);
      answer = ask(request);
    }
    return List.of(answer.split(" ")).stream().map(Answer::ofWord).toList();
  }

  /**
   * Asks any worker, and another one if that dies before it has answered. So what is asked may
   * happen twice; telling the second time from the first is what an inbox is for.
   */
  private String ask(String request) throws InterruptedException {
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
    processes.kill(processes.pick(dice));
  }

  Fleet fleet() {
    return processes;
  }

  /** Fails if a worker has ended that nobody killed. */
  void checkAlive() {
    processes.checkAlive();
  }

  /** Lets all workers end in order. */
  void stop() {
    processes.stop();
  }

  @Override
  public void close() throws IOException {
    processes.close();
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
