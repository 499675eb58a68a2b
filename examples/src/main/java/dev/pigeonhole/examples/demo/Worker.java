package dev.pigeonhole.examples.demo;

import static java.nio.charset.StandardCharsets.US_ASCII;

import com.zaxxer.hikari.HikariDataSource;
import dev.pigeonhole.Acceptance;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.Message;
import dev.pigeonhole.RetryPolicy;
import dev.pigeonhole.RunningInbox;
import dev.pigeonhole.admin.HandlerCounts;
import dev.pigeonhole.jdbc.JdbcStore;
import dev.pigeonhole.store.StoreException;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;

/**
 * A worker process: it accepts what the demo hands it, and handles what the store hands it. It
 * keeps nothing that a {@code kill -9} could take away.
 */
public final class Worker {

  /** Connections to the demo: this many batches at once. */
  private static final int LINKS = 3;

  private final Plan plan;
  private final Inbox inbox;

  private Worker(Plan plan, Inbox inbox) {
    this.plan = plan;
    this.inbox = inbox;
  }

  /** Arguments: the demo's port, its directory, URL, user, password, and the demo's options. */
  public static void main(String[] args) throws Exception {
    int port = Integer.parseInt(args[0]);
    Path directory = Path.of(args[1]);
    List<String> database = List.of(args).subList(2, 5);
    Plan plan = new Plan(Options.parse(Arrays.copyOfRange(args, 5, args.length)));

    Handlers handlers = new Handlers(plan, directory);
    HikariDataSource pool = Database.pool(database, 16);
    Inbox inbox =
        Inbox.on(JdbcStore.of(pool))
            .named("demo")
            .channel(handlers.channel())
            .retry(RetryPolicy.exponential(Duration.ofMillis(200)).maxAttempts(5))
            // Shorter than the defaults, as a demo has no time to wait for the dead.
            .beat(Duration.ofSeconds(1))
            .deadAfter(Duration.ofSeconds(4))
            .build();
    RunningInbox running = inbox.start();
    Runtime.getRuntime().addShutdownHook(new Thread(running::close));

    Worker worker = new Worker(plan, inbox);
    for (int i = 0; i < LINKS; i++) {
      Socket link = new Socket(InetAddress.getLoopbackAddress(), port);
      new Thread(() -> worker.serve(link), "link-" + i).start();
    }
  }

  /** Answers one line with one line until the demo hangs up. */
  private void serve(Socket link) {
    try (link;
        BufferedReader in =
            new BufferedReader(new InputStreamReader(link.getInputStream(), US_ASCII));
        PrintStream out = new PrintStream(link.getOutputStream(), true, US_ASCII)) {
      for (String line = in.readLine(); line != null; line = in.readLine()) {
        out.print((line.equals("status") ? status() : accept(line)) + "\n");
        out.flush();
      }
    } catch (IOException e) {
      // The demo is gone, and ends this process next.
    }
  }

  /** One letter for each number in the line. */
  private String accept(String numbers) {
    List<Message> batch =
        Arrays.stream(numbers.split(" "))
            .map(Integer::parseInt)
            .map(plan::order)
            .map(order -> Message.of(order.order(), order))
            .toList();
    StringBuilder letters = new StringBuilder();
    try {
      for (Acceptance answer : inbox.accept(Handlers.CHANNEL, batch)) {
        letters.append(Answer.of(answer).letter());
      }
      return letters.toString();
    } catch (StoreException e) {
      return Answer.FAILED + e.toString().replace('\n', ' ');
    }
  }

  private String status() {
    Status sum = new Status(0, 0, 0, 0);
    try {
      for (HandlerCounts counts : inbox.admin().counts(Integer.MAX_VALUE)) {
        sum =
            sum.plus(
                new Status(
                    counts.completed().value(),
                    counts.poisoned().value(),
                    counts.blocked().value(),
                    counts.pending().plus(counts.scheduled()).value()));
      }
      return sum.toLine();
    } catch (StoreException e) {
      return Answer.FAILED + e.toString().replace('\n', ' ');
    }
  }
}
