package dev.pigeonhole.benchmarks.pigeonhole;

import com.zaxxer.hikari.HikariDataSource;
import dev.pigeonhole.Inbox;
import dev.pigeonhole.InboxBuilder;
import dev.pigeonhole.RunningInbox;
import dev.pigeonhole.benchmarks.inbox.Completions;
import dev.pigeonhole.benchmarks.inbox.Messages;
import dev.pigeonhole.benchmarks.subject.SubjectMain;
import dev.pigeonhole.jdbc.JdbcStore;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Handles the messages that another process accepts. It reads what to do, says when it is ready,
 * lets its handlers begin when it is told, and in the end says how often they were called.
 */
final class WorkerMain {

  private WorkerMain() {}

  /** Takes no arguments. */
  public static void main(String[] args) throws IOException {
    PrintStream answers = System.out;
    System.setOut(System.err);
    BufferedReader orders =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    Map<String, String> order = SubjectMain.decode(orders.readLine());
    int messages = Integer.parseInt(order.get("messages"));
    Completions completions = new Completions(0, messages, 1);
    Latencies latencies = new Latencies();
    boolean timed = order.containsKey("timed");
    Gate gate = new Gate();
    LoadedInbox.Effect handler =
        (any, payload) -> {
          if (Messages.number(payload) >= messages) {
            return; // it is only there to make this process warm
          }
          gate.pass();
          if (timed) {
            latencies.record(payload);
          }
          completions.handled(0, payload);
        };
    try (HikariDataSource pool = pool(order);
        RunningInbox running = inbox(order, pool, handler).start()) {
      answers.println("ready");
      orders.readLine();
      gate.open();
      orders.readLine();
    }
    Map<String, String> report = new LinkedHashMap<>();
    report.put("calls", Long.toString(completions.count() + completions.doubled()));
    if (timed) {
      report.putAll(latencies.percentiles());
    }
    answers.println(SubjectMain.encode("done", report));
  }

  private static Inbox inbox(
      Map<String, String> order, HikariDataSource pool, LoadedInbox.Effect handler) {
    InboxBuilder inbox = Inbox.on(JdbcStore.of(pool)).channel(LoadedInbox.channel(1, handler));
    String beat = order.get("beatMillis");
    return (beat == null ? inbox : inbox.beat(Duration.ofMillis(Long.parseLong(beat)))).build();
  }

  private static HikariDataSource pool(Map<String, String> order) {
    HikariDataSource pool = new HikariDataSource();
    pool.setJdbcUrl(order.get("url"));
    pool.setUsername(order.get("user"));
    pool.setPassword(order.get("password"));
    pool.setMaximumPoolSize(LoadedInbox.POOL);
    return pool;
  }
}
