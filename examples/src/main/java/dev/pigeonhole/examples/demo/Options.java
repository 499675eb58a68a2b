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
    int workers,
    int kill,
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

  static final String HELP =
      """
      Usage: ./demo [options]

      Sends orders to four handlers, kills what it is told to, and counts what came of it.

        --messages N       orders to send (10000)
        --repeats PERCENT  of the orders are sent a second time (20)
        --fail PERCENT     of the flaky handler's deliveries fail once or twice (5)
        --store NAME       h2, postgres or mariadb, all embedded (h2)
        --mode NAME        stored, or inline: handlers run while an order is handed in (stored)
        --workers N        worker processes; more than one needs postgres or mariadb (1)
        --kill N           kill -9 of a random worker at N random moments (0)
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
    VALUED.put("--workers", "1");
    VALUED.put("--kill", "0");
    VALUED.put("--seed", "1");
    VALUED.put("--timeout", "300");
  }

  /** What a run does that nobody told anything. */
  static final Options DEFAULTS =
      new Options(10_000, 20, 5, StoreKind.H2, Mode.STORED, 1, 0, 1, 300, false, false);

  static Options parse(String... args) throws UsageException {
    Map<String, String> values = new LinkedHashMap<>(VALUED);
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
        values.put(name, args[i].substring(equals + 1));
      } else if (i + 1 < args.length && !args[i + 1].startsWith("--")) {
        values.put(name, args[++i]);
      } else {
        throw new UsageException(name + " needs a value", example(name));
      }
    }
    Options options =
        new Options(
            (int) number(values, "--messages", 1, 10_000_000),
            (int) number(values, "--repeats", 0, 100),
            (int) number(values, "--fail", 0, 100),
            chosen("store", StoreKind.values(), StoreKind::text, values),
            chosen("mode", Mode.values(), Mode::text, values),
            (int) number(values, "--workers", 1, 16),
            (int) number(values, "--kill", 0, 1_000),
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
  }

  /** The same run as arguments, for the worker processes. */
  List<String> toArguments() {
    return List.of(
        "--messages=" + messages,
        "--repeats=" + repeats,
        "--fail=" + fail,
        "--store=" + store.text(),
        "--mode=" + mode.text(),
        "--workers=" + workers,
        "--kill=" + kill,
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
          "./demo %s %d".formatted(name, number < least ? least : most));
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
        keepsNumber ? "./demo " + nearest + " " + next : example(nearest));
  }

  private static String example(String name) {
    String value = VALUED.get(name);
    return "./demo " + name + (value == null ? "" : " " + value);
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
