package dev.pigeonhole.examples.demo;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Function;

/** What a run is asked to do. */
record Options(
    int messages,
    int repeats,
    int fail,
    StoreKind store,
    Mode mode,
    TransportKind transport,
    int workers,
    int kill,
    int relayKills,
    long seed,
    int timeout,
    boolean json,
    boolean help) {

  /** The stores that the demo can start. */
  enum StoreKind {
    H2,
    POSTGRES,
    MARIADB;

    String text() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  /** When the handlers run. */
  enum Mode {
    /** The inbox stores an order, and runs its handlers afterwards. */
    STORED,
    /** The handlers run while an order is handed in; its source brings it again if one fails. */
    INLINE;

    String text() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  /** What stands between those who place orders and the inbox. */
  enum TransportKind {
    /** Nothing: the producer hands them in itself. */
    NONE,
    RABBITMQ,
    KAFKA;

    private static final int MOST_RELAY_KILLS = 10;
    private static final int MESSAGES_PER_KILL = 100;

    String text() {
      return name().toLowerCase(Locale.ROOT);
    }

    /** The embedded one where nothing else has to reach it. */
    private StoreKind defaultStore() {
      return this == NONE ? StoreKind.H2 : StoreKind.POSTGRES;
    }

    /** Fewer for a small run, in which they would find nothing left to do. */
    private int defaultRelayKills(int messages) {
      return this == NONE
          ? 0
          : Math.max(1, Math.min(MOST_RELAY_KILLS, messages / MESSAGES_PER_KILL));
    }
  }

  static final String HELP =
      """
      Usage: ./demo [options]

      Sends orders to four handlers, kills what it is told to, and counts what came of it.

        --messages N       orders to send (10000)
        --repeats PERCENT  of the orders are sent a second time (20)
        --fail PERCENT     of the flaky handler's deliveries fail once or twice (5)
        --store NAME       h2, postgres or mariadb, all embedded (h2, with a transport postgres)
        --mode NAME        stored, or inline: handlers run while an order is handed in (stored)
        --transport NAME   none, or rabbitmq or kafka: outbox, relays, broker, inbox (none)
        --workers N        worker processes; more than one needs postgres or mariadb (1)
        --kill N           kill -9 of a random worker at N random moments (0)
        --relay-kills N    kill -9 of a random relay at N random moments (10 with a transport)
        --seed N           the same seed asks the same (1)
        --timeout SECONDS  give up after that (300)
        --json             one JSON object on standard output, all else on standard error
        --help             this text

      Exit 0: nothing was lost, twice in the ledger, out of order or left undone. 1: something was.
      2: wrong usage. 3: this machine lacks something. 130: interrupted.
      """;

  /** Wrong usage, with the nearest valid form. */
  static final class UsageException extends Exception {
    private static final long serialVersionUID = 1L;

    private final String nearest;

    UsageException(String message, String nearest) {
      super(message);
      this.nearest = nearest;
    }

    /** A command line that would have worked. */
    String nearest() {
      return nearest;
    }
  }

  private static final List<String> FLAGS = List.of("--json", "--help");

  /** The options with a value, and an example of each. */
  private static final Map<String, String> VALUED = new LinkedHashMap<>();

  static {
    VALUED.put("--messages", "10000");
    VALUED.put("--repeats", "20");
    VALUED.put("--fail", "5");
    VALUED.put("--store", "h2");
    VALUED.put("--mode", "stored");
    VALUED.put("--transport", "none");
    VALUED.put("--workers", "1");
    VALUED.put("--kill", "0");
    VALUED.put("--relay-kills", "10");
    VALUED.put("--seed", "1");
    VALUED.put("--timeout", "300");
  }

  /** What a run does that nobody told anything. */
  static final Options DEFAULTS =
      new Options(
          10_000,
          20,
          5,
          StoreKind.H2,
          Mode.STORED,
          TransportKind.NONE,
          1,
          0,
          0,
          1,
          300,
          false,
          false);

  static Options parse(String... args) throws UsageException {
    Map<String, String> given = new LinkedHashMap<>();
    List<String> flags = new ArrayList<>();
    for (int i = 0; i < args.length; i++) {
      int equals = args[i].indexOf('=');
      String name = equals < 0 ? args[i] : args[i].substring(0, equals);
      if (equals < 0 && FLAGS.contains(name)) {
        flags.add(name);
      } else if (equals >= 0 && FLAGS.contains(name)) {
        throw new UsageException(name + " takes no value", "./demo " + name);
      } else if (!VALUED.containsKey(name)) {
        throw unknown(name, equals < 0 && i + 1 < args.length ? args[i + 1] : "");
      } else if (equals >= 0) {
        given.put(name, args[i].substring(equals + 1));
      } else if (i + 1 < args.length && !args[i + 1].startsWith("--")) {
        given.put(name, args[++i]);
      } else {
        throw new UsageException(name + " needs a value", example(name));
      }
    }
    Map<String, String> values = new LinkedHashMap<>(VALUED);
    values.putAll(given);
    int messages = (int) number(values, "--messages", 1, 10_000_000);
    TransportKind transport =
        chosen("transport", TransportKind.values(), TransportKind::text, values);
    // What these two are by default depends on the transport.
    values.put("--store", given.getOrDefault("--store", transport.defaultStore().text()));
    values.put(
        "--relay-kills",
        given.getOrDefault("--relay-kills", "" + transport.defaultRelayKills(messages)));
    Options options =
        new Options(
            messages,
            (int) number(values, "--repeats", 0, 100),
            (int) number(values, "--fail", 0, 100),
            chosen("store", StoreKind.values(), StoreKind::text, values),
            chosen("mode", Mode.values(), Mode::text, values),
            transport,
            (int) number(values, "--workers", 1, 16),
            (int) number(values, "--kill", 0, 1_000),
            (int) number(values, "--relay-kills", 0, 1_000),
            number(values, "--seed", Long.MIN_VALUE, Long.MAX_VALUE),
            (int) number(values, "--timeout", 1, 86_400),
            flags.contains("--json"),
            flags.contains("--help"));
    options.checkCombination();
    return options;
  }

  private void checkCombination() throws UsageException {
    if (store == StoreKind.H2 && workers > 1) {
      throw new UsageException(
          "--workers %d needs a server: one process holds the file of H2".formatted(workers),
          "./demo --store postgres --workers " + workers);
    }
    if (transport == TransportKind.NONE && relayKills > 0) {
      throw new UsageException(
          "--relay-kills %d needs a transport: without one there is no relay".formatted(relayKills),
          command("--relay-kills") + " " + relayKills);
    }
    if (transport != TransportKind.NONE && store == StoreKind.H2) {
      throw new UsageException(
          "--transport %s needs a server: one process holds the file of H2"
              .formatted(transport.text()),
          "./demo --store postgres --transport " + transport.text());
    }
    if (transport != TransportKind.NONE && mode == Mode.INLINE) {
      throw new UsageException(
          "--mode inline needs --transport none: only there the demo sees what is brought again",
          "./demo --mode stored --transport " + transport.text());
    }
  }

  /** The same run as arguments, for the worker processes. */
  List<String> toArguments() {
    return List.of(
        "--messages=" + messages,
        "--repeats=" + repeats,
        "--fail=" + fail,
        "--store=" + store.text(),
        "--mode=" + mode.text(),
        "--transport=" + transport.text(),
        "--workers=" + workers,
        "--kill=" + kill,
        "--relay-kills=" + relayKills,
        "--seed=" + seed,
        "--timeout=" + timeout);
  }

  private static <E> E chosen(
      String what, E[] all, Function<E, String> text, Map<String, String> values)
      throws UsageException {
    String name = values.getOrDefault("--" + what, "");
    for (E each : all) {
      if (text.apply(each).equals(name)) {
        return each;
      }
    }
    List<String> names = Arrays.stream(all).map(text).toList();
    throw new UsageException(
        "there is no %s '%s'; there are %s".formatted(what, name, String.join(", ", names)),
        "./demo --%s %s".formatted(what, nearest(name.toLowerCase(Locale.ROOT), names)));
  }

  private static long number(Map<String, String> values, String name, long least, long most)
      throws UsageException {
    String text = values.getOrDefault(name, "");
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
          "%s %d".formatted(command(name), number < least ? least : most));
    }
    return number;
  }

  /** What is like no option gets all of them; what is like one keeps the number that follows. */
  private static UsageException unknown(String name, String next) {
    List<String> names = new ArrayList<>(VALUED.keySet());
    names.addAll(FLAGS);
    String asked = name.toLowerCase(Locale.ROOT);
    String nearest = nearest(asked, names);
    if (distance(asked, nearest) > nearest.length() / 3) {
      nearest = "--help";
    }
    boolean keepsNumber = VALUED.containsKey(nearest) && next.matches("\\d{1,7}");
    return new UsageException(
        "there is no option '%s'".formatted(name),
        keepsNumber ? command(nearest) + " " + next : example(nearest));
  }

  private static String example(String name) {
    String value = VALUED.get(name);
    return command(name) + (value == null ? "" : " " + value);
  }

  /** Only with a transport there are relays to kill. */
  private static String command(String name) {
    return "./demo " + (name.equals("--relay-kills") ? "--transport rabbitmq " : "") + name;
  }

  private static String nearest(String word, List<String> candidates) {
    return candidates.stream()
        .min(Comparator.comparingInt(candidate -> distance(word, candidate)))
        .orElseThrow();
  }

  /** Letters to insert, drop or replace until one word is the other. */
  private static int distance(String a, String b) {
    int[] row = new int[b.length() + 1];
    Arrays.setAll(row, i -> i);
    for (int i = 1; i <= a.length(); i++) {
      int diagonal = row[0];
      row[0] = i;
      for (int j = 1; j <= b.length(); j++) {
        int replaced = diagonal + (a.charAt(i - 1) == b.charAt(j - 1) ? 0 : 1);
        diagonal = row[j];
        row[j] = Math.min(replaced, Math.min(row[j], row[j - 1]) + 1);
      }
    }
    return row[b.length()];
  }
}
