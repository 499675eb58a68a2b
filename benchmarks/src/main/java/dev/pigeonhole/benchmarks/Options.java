package dev.pigeonhole.benchmarks;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * What a run is asked to do.
 *
 * @param messages in every scenario that counts them; 0 leaves it to the plan
 * @param growthRows finished messages before {@code grown}; 0 leaves it to the plan
 * @param snapshotSeconds of {@code held-snapshot}; 0 leaves it to the plan
 * @param rounds of everybody; 0 leaves it to the plan
 * @param scenarios the names of those to run, none if all
 * @param peers who is measured besides ourselves and the floor
 * @param url of a database that is there already
 */
record Options(
    boolean quick,
    int messages,
    int growthRows,
    int snapshotSeconds,
    int rounds,
    int seed,
    Set<String> scenarios,
    List<String> peers,
    Store store,
    @Nullable String url,
    boolean json,
    boolean help) {

  static final String HELP =
      """
      Usage: ./bench [options]
             ./bench --micro [options of JMH]

      Measures Pigeonhole beside bare SQL for the same durable work and beside other libraries, in turns,
      on a PostgreSQL of its own. The default takes about an hour, --quick about twelve minutes.

        --quick               fewer peers, smaller sizes
        --messages N          in every scenario that counts them
        --growth-rows N       finished messages that are kept before 'grown' (5000000, quick 1000000), and the most
                              that 'not-due' and 'prune' begin with
        --snapshot-seconds N  how long 'held-snapshot' holds its snapshot (300, quick 45)
        --rounds N            of everybody (3; quick: 3 of floor and ours, 2 of peers)
        --seed N              the same seed makes the same messages (1)
        --scenario LIST       only these, for example end-to-end,guard; a beginning stands for all that share it
        --peers LIST          who else: names, all or none; quick takes the fastest and most used
        --store NAME          postgres, mariadb or h2, all embedded; ours alone on the latter two (postgres)
        --url URL             a PostgreSQL or MariaDB that is there already; the user is in the environment as
                              PIGEONHOLE_BENCH_USER, the password as PIGEONHOLE_BENCH_PASSWORD
        --json                one JSON object on standard output, all else on standard error
        --micro               the few pieces that need no database, each by itself, with JMH; before all other options
        --help                this text

      Scenarios: accept-batch, accept-single-1|8|64, drain, end-to-end, handlers-5, payload-200|2k|50k, repeats-50,
      guard, transactional-1|50, latency, ordered-1|100|10000, workers-1|2|4, grown, held-snapshot, backlog, not-due, prune;
      and only where they are named: rabbitmq, kafka, from a broker to the handler beside the broker's own client.
      Peers: seed-article, seed-inbox, db-scheduler, transaction-outbox, spring-integration, eventuate, jobrunr,
      spring-modulith, namastack, dbos, camel.

      The results of a whole run go to benchmarks/results, those of a part to benchmarks/target/results.
      Exit 0: everybody ran and was correct, also if a target is missed. 1: something was lost, doubled or crashed.
      2: wrong usage. 3: no database, or this machine lacks something. 130: interrupted.
      """;

  private static final List<String> FLAGS = List.of("--quick", "--json", "--help");

  /** The options with a value, and an example of each. */
  private static final Map<String, String> VALUED = new LinkedHashMap<>();

  static {
    VALUED.put("--messages", "10000");
    VALUED.put("--growth-rows", "1000000");
    VALUED.put("--snapshot-seconds", "45");
    VALUED.put("--rounds", "3");
    VALUED.put("--seed", "1");
    VALUED.put("--scenario", "end-to-end");
    VALUED.put("--peers", "db-scheduler");
    VALUED.put("--store", "postgres");
    VALUED.put("--url", "jdbc:postgresql://127.0.0.1:5432/bench");
  }

  /** All options, with a value or without. */
  static List<String> names() {
    List<String> names = new ArrayList<>(FLAGS);
    names.addAll(VALUED.keySet());
    return names;
  }

  static Options parse(String... args) throws UsageException {
    Map<String, String> values = new LinkedHashMap<>();
    List<String> flags = new ArrayList<>();
    for (int i = 0; i < args.length; i++) {
      int equals = args[i].indexOf('=');
      String name = equals < 0 ? args[i] : args[i].substring(0, equals);
      if (equals < 0 && FLAGS.contains(name)) {
        flags.add(name);
      } else if (FLAGS.contains(name)) {
        throw new UsageException(name + " takes no value", "./bench " + name);
      } else if (!VALUED.containsKey(name)) {
        throw unknown(name);
      } else if (equals >= 0) {
        values.put(name, args[i].substring(equals + 1));
      } else if (i + 1 < args.length && !args[i + 1].startsWith("--")) {
        values.put(name, args[++i]);
      } else {
        throw new UsageException(name + " needs a value", example(name));
      }
    }
    boolean quick = flags.contains("--quick");
    Store store = store(values);
    Options options =
        new Options(
            quick,
            number(values, "--messages", 0, 100, 100_000_000),
            number(values, "--growth-rows", 0, 1, 100_000_000),
            number(values, "--snapshot-seconds", 0, 1, 3_600),
            number(values, "--rounds", 0, 1, 1_000),
            number(values, "--seed", 1, 0, Integer.MAX_VALUE),
            scenarios(values),
            peers(values, store, quick),
            store,
            values.get("--url"),
            flags.contains("--json"),
            flags.contains("--help"));
    options.checkWhatTheStoreCanDo();
    return options;
  }

  /** Whether all of a plan is run, so that its results stand beside those of other days. */
  boolean whole() {
    return messages == 0
        && growthRows == 0
        && snapshotSeconds == 0
        && rounds == 0
        && scenarios.isEmpty()
        && peers.equals(Peer.names(quick))
        && store == Store.POSTGRES
        && url == null;
  }

  private static Store store(Map<String, String> values) throws UsageException {
    String url = values.get("--url");
    String name = values.getOrDefault("--store", Store.POSTGRES.text());
    Store store =
        Arrays.stream(Store.values())
            .filter(each -> each.text().equals(name))
            .findFirst()
            .orElse(null);
    if (store == null) {
      List<String> names = Arrays.stream(Store.values()).map(Store::text).toList();
      throw new UsageException(
          "there is no store '%s'; there are %s".formatted(name, String.join(", ", names)),
          "./bench --store " + Words.nearest(name, names));
    }
    if (url == null) {
      return store;
    }
    if (url.toLowerCase(Locale.ROOT).contains("password=")) {
      throw new UsageException(
          "a password in --url would end up in logs; put it into PIGEONHOLE_BENCH_PASSWORD",
          example("--url"));
    }
    Store behind = Store.behind(url);
    if (behind == null) {
      throw new UsageException(
          "--url leads to a server, as jdbc:postgresql: and jdbc:mariadb: do, not '%s'"
              .formatted(url),
          example("--url"));
    }
    if (values.containsKey("--store") && behind != store) {
      throw new UsageException(
          "--url leads to %s, not to %s".formatted(behind.text(), store.text()),
          "./bench --url " + url);
    }
    return behind;
  }

  private static Set<String> scenarios(Map<String, String> values) throws UsageException {
    Set<String> chosen = new LinkedHashSet<>();
    for (String asked : list(values, "--scenario")) {
      List<String> meant =
          Plan.SCENARIOS.stream()
              .filter(name -> name.equals(asked) || name.startsWith(asked + "-"))
              .toList();
      if (meant.isEmpty()) {
        throw new UsageException(
            "there is no scenario '%s'".formatted(asked),
            "./bench --scenario " + Words.nearest(asked, Plan.SCENARIOS));
      }
      chosen.addAll(meant);
    }
    return chosen;
  }

  private static List<String> peers(Map<String, String> values, Store store, boolean quick)
      throws UsageException {
    String asked = values.get("--peers");
    if (asked == null) {
      return store == Store.POSTGRES ? Peer.names(quick) : List.of();
    }
    if (asked.equals("none")) {
      return List.of();
    }
    if (store != Store.POSTGRES) {
      throw new UsageException(
          "peers are measured on postgres alone",
          "./bench --store %s --peers none".formatted(store.text()));
    }
    if (asked.equals("all")) {
      return Peer.names(false);
    }
    List<String> chosen = list(values, "--peers");
    for (String name : chosen) {
      if (!Peer.names(false).contains(name)) {
        throw new UsageException(
            "there is no peer '%s'".formatted(name),
            "./bench --peers " + Words.nearest(name, Peer.names(false)));
      }
    }
    return chosen;
  }

  private void checkWhatTheStoreCanDo() throws UsageException {
    for (String scenario : scenarios) {
      if (!Plan.runsOn(store, scenario)) {
        throw new UsageException(
            "the scenario '%s' does not run on %s".formatted(scenario, store.text()),
            "./bench --scenario " + scenario);
      }
    }
  }

  private static List<String> list(Map<String, String> values, String name) throws UsageException {
    String text = values.get(name);
    if (text == null) {
      return List.of();
    }
    List<String> words =
        Arrays.stream(text.split(","))
            .map(String::strip)
            .filter(word -> !word.isEmpty())
            .distinct()
            .toList();
    if (words.isEmpty()) {
      throw new UsageException(name + " needs a name", example(name));
    }
    return words;
  }

  private static int number(
      Map<String, String> values, String name, int otherwise, int least, int most)
      throws UsageException {
    String text = values.get(name);
    if (text == null) {
      return otherwise;
    }
    long number;
    try {
      number = Long.parseLong(text);
    } catch (NumberFormatException e) {
      throw new UsageException(
          "%s needs a whole number, not '%s'".formatted(name, text), example(name));
    }
    if (number < least || number > most) {
      throw new UsageException(
          "%s must be between %d and %d, not %d".formatted(name, least, most, number),
          "./bench %s %d".formatted(name, number < least ? least : most));
    }
    return (int) number;
  }

  private static UsageException unknown(String name) {
    List<String> names = new ArrayList<>(VALUED.keySet());
    names.addAll(FLAGS);
    String asked = name.toLowerCase(Locale.ROOT);
    String nearest = Words.nearest(asked, names);
    boolean alike = Words.distance(asked, nearest) <= nearest.length() / 3;
    return new UsageException(
        "there is no option '%s'".formatted(name), example(alike ? nearest : "--help"));
  }

  private static String example(String name) {
    String value = VALUED.get(name);
    return "./bench " + name + (value == null ? "" : " " + value);
  }
}
