package dev.pigeonhole.benchmarks.subject;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.URLDecoder;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.sql.DriverManager;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.stream.Collectors;

/**
 * The process of a subject: one line in, one line out. A line is a word and then names with values,
 * encoded as in a query string.
 *
 * <pre>
 * about                                    →  about dedup=… effects=… settings=… scenarios=a,b
 * run scenario=end-to-end messages=20000 …  →  done completed=20000 seconds=1.5 … or failed reason=…
 * </pre>
 *
 * It ends with its input, in the middle of a run too: nobody is left to hear of it. What a peer
 * prints goes to standard error.
 */
public final class SubjectMain {

  private SubjectMain() {}

  /**
   * @param args the name of the class of the subject, which has a constructor without parameters
   */
  public static void main(String[] args) throws Exception {
    PrintStream answers = System.out;
    System.setOut(System.err);
    Subject subject =
        Class.forName(args[0]).asSubclass(Subject.class).getConstructor().newInstance();
    BlockingQueue<String> requests = new LinkedBlockingQueue<>();
    Thread reader = new Thread(() -> readInto(requests), "requests");
    reader.setDaemon(true);
    reader.start();
    while (true) {
      String line = requests.take();
      answers.println(line.startsWith("run") ? run(subject, decode(line)) : about(subject));
      answers.flush();
    }
  }

  private static void readInto(BlockingQueue<String> requests) {
    try (BufferedReader input =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
      for (String line = input.readLine(); line != null; line = input.readLine()) {
        requests.add(line);
      }
    } catch (IOException e) {
      // As good as the end.
    }
    // Not exit: a peer may have left a thread, or a hook that waits for one.
    Runtime.getRuntime().halt(0);
  }

  private static String about(Subject subject) {
    Map<String, String> about = new LinkedHashMap<>();
    about.put("dedup", subject.dedup());
    about.put("effects", subject.effects());
    about.put("settings", subject.settings());
    about.put("scenarios", String.join(",", subject.scenarios()));
    return encode("about", about);
  }

  private static String run(Subject subject, Map<String, String> given) {
    Map<String, String> answer = new LinkedHashMap<>();
    try (Counters counters =
        new Counters(
            DriverManager.getConnection(given.get("url"), given.get("user"), given.get("password")),
            Long.parseLong(given.getOrDefault("server", "0")))) {
      Run run = new Run(given, counters);
      subject.prepare(run);
      long completed = subject.work(run);
      answer.put("completed", Long.toString(completed));
      counters.settled().forEach((name, value) -> answer.put(name, value.toString()));
      answer.putAll(run.noted());
      return encode("done", answer);
    } catch (Exception | LinkageError | OutOfMemoryError e) {
      e.printStackTrace();
      return encode("failed", Map.of("reason", e.toString()));
    }
  }

  /** The line of a word with these values. */
  public static String encode(String word, Map<String, String> values) {
    return values.entrySet().stream()
        .map(
            each ->
                each.getKey() + "=" + URLEncoder.encode(each.getValue(), StandardCharsets.UTF_8))
        .collect(Collectors.joining(" ", word + " ", ""));
  }

  /** The values of a line, whatever its word. */
  public static Map<String, String> decode(String line) {
    Map<String, String> values = new TreeMap<>();
    for (String part : line.split(" ")) {
      int equals = part.indexOf('=');
      if (equals > 0) {
        values.put(
            part.substring(0, equals),
            URLDecoder.decode(part.substring(equals + 1), StandardCharsets.UTF_8));
      }
    }
    return values;
  }
}
