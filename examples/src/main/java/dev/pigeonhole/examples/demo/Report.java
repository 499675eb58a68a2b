package dev.pigeonhole.examples.demo;

import dev.pigeonhole.examples.demo.Options.Mode;
import dev.pigeonhole.examples.demo.Options.TransportKind;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.ToLongFunction;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * What came of a run.
 *
 * @param accepted messages in the store. Not the answers that said so: the answer to an accept can
 *     die with its worker, and then the message that was stored all the same is answered as a
 *     repeat when it comes again
 * @param broughtAgain copies that came to the inbox beyond the first of each order
 * @param transit the way through the transport
 * @param error why the run could not be finished
 */
record Report(
    Options options,
    long sent,
    long accepted,
    long conflicts,
    long rejected,
    List<Row> rows,
    long inversions,
    int kills,
    long broughtAgain,
    Transit transit,
    double seconds,
    @Nullable String error) {

  /**
   * One handler.
   *
   * @param lost orders it neither has an effect of nor still has to do, nor has given up
   * @param doubled effects beyond the first of an order
   */
  record Row(
      String key,
      boolean transactional,
      long completed,
      long poisoned,
      long held,
      long pending,
      long invocations,
      long retries,
      long lost,
      long doubled) {

    /** Of these there may be none: effects and receipt commit together. */
    long doubleEffects() {
      return transactional ? doubled : 0;
    }

    /** Of these there may be some after a kill: a plain handler is invoked at least once. */
    long repeatedEffects() {
      return transactional ? 0 : doubled;
    }
  }

  /** A run that failed before there was anything to count. */
  static Report failed(Options options, String error) {
    return new Report(options, 0, 0, 0, 0, List.of(), 0, 0, 0, Transit.NONE, 0, error);
  }

  Report withError(String newError) {
    return new Report(
        options,
        sent,
        accepted,
        conflicts,
        rejected,
        rows,
        inversions,
        kills,
        broughtAgain,
        transit,
        seconds,
        newError);
  }

  long repeats() {
    return sent - accepted - conflicts - rejected - underWay();
  }

  /** Published, and not in the store: where the end came early, the broker or the outbox has it. */
  private long underWay() {
    return Math.max(0, transit.published() - accepted);
  }

  private boolean relayed() {
    return options.transport() != TransportKind.NONE;
  }

  long sum(ToLongFunction<Row> column) {
    return rows.stream().mapToLong(column).sum();
  }

  /** Everything that must not be, in words. */
  List<String> problems() {
    List<String> problems = new ArrayList<>();
    if (error != null) {
      problems.add(error);
    }
    complain(problems, sum(Row::lost), "lost");
    complain(problems, sum(Row::doubleEffects), "done twice by a transactional handler");
    complain(problems, inversions, "out of order");
    complain(problems, sum(Row::pending), "pending");
    if (repeats() < 0) {
      problems.add("more messages are stored than were sent");
    }
    if (relayed()) {
      differ(problems, transit.placed(), "orders placed", transit.published(), "published");
      differ(problems, transit.published(), "published", transit.confirmed(), "confirmed");
      differ(problems, transit.published(), "published", accepted, "accepted");
    }
    long deliveries = sum(Row::completed) + sum(Row::poisoned) + sum(Row::held) + sum(Row::pending);
    if (accepted * rows.size() != deliveries) {
      problems.add(
          "%d messages for %d handlers make %d deliveries, but there are %d"
              .formatted(accepted, rows.size(), accepted * rows.size(), deliveries));
    }
    return problems;
  }

  private static void complain(List<String> problems, long count, String what) {
    if (count != 0) {
      problems.add(count + " " + what);
    }
  }

  private static void differ(
      List<String> problems, long count, String what, long other, String otherWhat) {
    if (count != other) {
      problems.add("%d %s, but %d %s".formatted(count, what, other, otherWhat));
    }
  }

  boolean ok() {
    return problems().isEmpty();
  }

  /** The closing table. */
  String table() {
    StringBuilder text = new StringBuilder();
    text.append(
        line("handler", "completed", "poisoned", "held", "pending", "invoked", "lost", "twice"));
    for (Row row : rows) {
      text.append(
          line(
              row.key(),
              row.completed(),
              row.poisoned(),
              row.held(),
              row.pending(),
              row.invocations(),
              row.lost(),
              row.doubled()));
    }
    text.append(
        "%d sent = %d accepted + %d repeats + %d conflicts + %d rejected%n"
            .formatted(sent, accepted, repeats(), conflicts, rejected));
    if (relayed()) {
      text.append(
          "%d published, %d confirmed, %d came again, %d relay kills, over %s%n"
              .formatted(
                  transit.published(),
                  transit.confirmed(),
                  broughtAgain,
                  transit.kills(),
                  options.transport().text()));
    }
    text.append(
        "%d retries, %d kills, %d out of order, %.1f seconds on %s, %s%n"
            .formatted(
                sum(Row::retries),
                kills,
                inversions,
                seconds,
                options.store().text(),
                options.mode().text()));
    if (sum(Row::poisoned) > 0) {
      text.append("poisoned: one order is made to fail for good; ")
          .append(
              options.mode() == Mode.INLINE
                  ? "its source has given it up\n"
                  : "it is kept until somebody acts\n");
    }
    if (sum(Row::repeatedEffects) > 0) {
      text.append(
          "twice: a kill may make plain handlers run again; post-to-ledger may have none\n");
    }
    text.append(
        ok()
            ? "OK: every order reached every handler, and the ledger has each once.\n"
            : "FAILED: " + String.join("; ", problems()) + "\n");
    return text.toString();
  }

  private static String line(Object... cells) {
    StringBuilder line = new StringBuilder("%-18s".formatted(cells[0]));
    for (int i = 1; i < cells.length; i++) {
      line.append("%11s".formatted(cells[i]));
    }
    return line.append('\n').toString();
  }

  String toJson() {
    String perHandler =
        rows.stream()
            .map(
                row ->
                    ("{\"key\":\"%s\",\"completed\":%d,\"poisoned\":%d,\"held\":%d,\"pending\":%d,"
                            + "\"invocations\":%d,\"retries\":%d,\"lost\":%d,\"doubleEffects\":%d,"
                            + "\"repeatedEffects\":%d}")
                        .formatted(
                            row.key(),
                            row.completed(),
                            row.poisoned(),
                            row.held(),
                            row.pending(),
                            row.invocations(),
                            row.retries(),
                            row.lost(),
                            row.doubleEffects(),
                            row.repeatedEffects()))
            .collect(Collectors.joining(",", "[", "]"));
    StringBuilder json = new StringBuilder("{");
    json.append("\"ok\":").append(ok());
    text(json, "store", options.store().text());
    text(json, "mode", options.mode().text());
    text(json, "transport", options.transport().text());
    number(json, "seed", options.seed());
    number(json, "messages", options.messages());
    number(json, "sent", sent);
    number(json, "accepted", accepted);
    number(json, "repeats", repeats());
    number(json, "conflicts", conflicts);
    number(json, "rejected", rejected);
    number(json, "published", transit.published());
    number(json, "confirmed", transit.confirmed());
    number(json, "broughtAgain", broughtAgain);
    number(json, "handlers", rows.size());
    number(json, "completed", sum(Row::completed));
    number(json, "poisoned", sum(Row::poisoned));
    number(json, "held", sum(Row::held));
    number(json, "pending", sum(Row::pending));
    number(json, "invocations", sum(Row::invocations));
    number(json, "retries", sum(Row::retries));
    number(json, "kills", kills);
    number(json, "relayKills", transit.kills());
    number(json, "lost", sum(Row::lost));
    number(json, "doubleEffects", sum(Row::doubleEffects));
    number(json, "repeatedEffects", sum(Row::repeatedEffects));
    number(json, "inversions", inversions);
    json.append(",\"seconds\":").append(String.format(Locale.ROOT, "%.1f", seconds));
    json.append(",\"perHandler\":").append(perHandler);
    if (error != null) {
      text(json, "error", error);
    }
    return json.append('}').toString();
  }

  private static void number(StringBuilder json, String name, long value) {
    json.append(",\"").append(name).append("\":").append(value);
  }

  private static void text(StringBuilder json, String name, String value) {
    json.append(",\"").append(name).append("\":\"");
    value
        .chars()
        .forEach(
            c -> {
              if (c == '"' || c == '\\') {
                json.append('\\').append((char) c);
              } else if (c < ' ') {
                json.append(String.format(Locale.ROOT, "\\u%04x", c));
              } else {
                json.append((char) c);
              }
            });
    json.append('"');
  }
}
