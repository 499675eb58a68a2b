package dev.pigeonhole.examples.demo;

import static java.nio.charset.StandardCharsets.US_ASCII;

import com.zaxxer.hikari.HikariDataSource;
import dev.pigeonhole.Channel;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.Message;
import dev.pigeonhole.RetryPolicy;
import dev.pigeonhole.RunningInbox;
import dev.pigeonhole.admin.HandlerCounts;
import dev.pigeonhole.examples.OrderPlaced;
import dev.pigeonhole.examples.demo.Options.TransportKind;
import dev.pigeonhole.jdbc.JdbcStore;
import dev.pigeonhole.store.StoreException;
import dev.pigeonhole.transport.MessageSource;
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
import java.util.stream.Collectors;

/**
 * A worker process: it accepts what the demo or a broker hands it, and handles what the store hands
 * it, or handles at once what the demo hands it. It keeps nothing that a {@code kill -9} could take
 * away.
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

  /** Arguments: the demo's port, its directory, URL, user, password, broker, and its options. */
  @SuppressWarnings("SystemOut") // the demo reads it
  public static void main(String[] args) throws Exception {
    int port = Integer.parseInt(args[0]);
    Path directory = Path.of(args[1]);
    List<String> database = List.of(args).subList(2, 5);
    Options options = Options.parse(Arrays.copyOfRange(args, 6, args.length));
    Plan plan = new Plan(options);

    Handlers handlers = new Handlers(plan, directory);
    HikariDataSource pool = Database.pool(database, 16);
    Channel channel = handlers.channel(options.mode());
    MessageSource[] sources =
        options.transport() == TransportKind.NONE
            ? new MessageSource[0]
            : new MessageSource[] {Wire.of(options.transport(), args[5]).source()};
    Inbox inbox =
        Inbox.on(JdbcStore.of(pool))
            .named("demo")
            .channel(channel, sources)
            .retry(RetryPolicy.exponential(Duration.ofMillis(200)).maxAttempts(Plan.MOST_ATTEMPTS))
            // Shorter than the defaults, as a demo has no time to wait for the dead.
            .beat(Duration.ofSeconds(1))
            .deadAfter(Duration.ofSeconds(4))
            .build();
    RunningInbox running = inbox.start();
    Runtime.getRuntime().addShutdownHook(new Thread(running::close));
    System.out.println(Fleet.READY);

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

  /** One answer for each copy in the line. */
  private String accept(String copies) {
    List<Message> batch =
        Arrays.stream(copies.split(" ")).map(Copy::ofWord).map(this::message).toList();
    try {
      return inbox.accept(Handlers.CHANNEL, batch).stream()
          .map(acceptance -> Answer.of(acceptance).toWord())
          .collect(Collectors.joining(" "));
    } catch (StoreException e) {
      return Answer.FAILED + e.toString().replace('\n', ' ');
    }
  }

  private Message message(Copy copy) {
    OrderPlaced order = plan.order(copy.order());
    Message message = Message.of(order.order(), order);
    return copy.returns() == 0 ? message : message.header(Handlers.RETURNS, copy.returns());
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
