package dev.pigeonhole.benchmarks;

import static dev.pigeonhole.benchmarks.Entry.FLOOR;
import static dev.pigeonhole.benchmarks.Entry.PIGEONHOLE;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;

/**
 * Who runs what, how large, how often and in which company. What a ratio compares stands in one
 * heat, so that both sides of it are measured within seconds of each other.
 */
record Plan(List<Heat> heats, int grownRows, int heldSnapshotSeconds) {

  static final List<String> SCENARIOS =
      List.of(
          "accept-batch",
          "accept-single-1",
          "accept-single-8",
          "accept-single-64",
          "drain",
          "end-to-end",
          "handlers-5",
          "payload-200",
          "payload-2k",
          "payload-50k",
          "repeats-50",
          "guard",
          "transactional-1",
          "transactional-50",
          "latency",
          "ordered-1",
          "ordered-100",
          "ordered-10000",
          "workers-1",
          "workers-2",
          "workers-4",
          "grown",
          "held-snapshot",
          "backlog",
          "not-due",
          "prune",
          Brokers.RABBITMQ,
          Brokers.KAFKA);

  /** They need brokers, and time that a whole run has not left: one must ask. */
  static final Set<String> FROM_BROKERS = Set.of(Brokers.RABBITMQ, Brokers.KAFKA);

  /** On PostgreSQL one statement fills a table; elsewhere this takes so long that one must ask. */
  private static final Set<String> WITH_MANY_ROWS =
      Set.of("grown", "held-snapshot", "not-due", "prune");

  static final int ROWS_NOT_DUE = 1_000_000;

  /** One process holds the file of H2. */
  static boolean runsOn(Store store, String scenario) {
    return store != Store.H2 || !scenario.startsWith("workers-");
  }

  static Plan of(Options options) {
    int grownRows =
        options.growthRows() > 0 ? options.growthRows() : options.quick() ? 1_000_000 : 5_000_000;
    int heldSeconds =
        options.snapshotSeconds() > 0 ? options.snapshotSeconds() : options.quick() ? 45 : 300;
    return new Plan(new Draft(options, grownRows, heldSeconds).heats(), grownRows, heldSeconds);
  }

  /** What it will take altogether, roughly. */
  double seconds() {
    return heats.stream().mapToDouble(Heat::seconds).sum();
  }

  int runs() {
    return heats.stream().mapToInt(heat -> heat.turns().size()).sum();
  }

  Stream<Entry> entries() {
    return heats.stream().flatMap(heat -> heat.entries().stream());
  }

  /** The entry of ours with this row. */
  Optional<Entry> entry(String row) {
    return entries()
        .filter(it -> it.row().equals(row) && it.subject().equals(PIGEONHOLE))
        .findFirst();
  }

  /** Writes the heats down, one after the other, and leaves out what nobody asked for. */
  private static final class Draft {

    private final Options options;
    private final int grownRows;
    private final int heldSeconds;
    private final List<Heat> heats = new ArrayList<>();

    Draft(Options options, int grownRows, int heldSeconds) {
      this.options = options;
      this.grownRows = grownRows;
      this.heldSeconds = heldSeconds;
    }

    List<Heat> heats() {
      deliver(); // first, for it warms most of the code
      accept();
      inTransactions();
      latency();
      order();
      workers();
      withOldRows();
      fromBrokers();
      return heats;
    }

    private void accept() {
      heat(size(6, 20), both("accept-batch", size(80_000, 400_000), 75_000));
      heat(both("accept-single-1", size(2_000, 6_000), 1_500).map(it -> it.with("threads", 1)));
      heat(both("accept-single-8", size(10_000, 40_000), 6_000).map(it -> it.with("threads", 8)));
      heat(
          size(6, 15),
          both("accept-single-64", size(24_000, 100_000), 14_000)
              .map(it -> it.with("threads", 64)));
    }

    private void deliver() {
      heat(
          size(25, 40),
          Stream.concat(both("end-to-end", size(100_000, 300_000), 42_000), peers("end-to-end")));
      heat(both("drain", size(80_000, 300_000), 45_000)); // the backlog takes its time, too
      heat(both("handlers-5", size(20_000, 80_000), 12_000).map(it -> it.with("handlers", 5)));
      heat(both("payload-200", size(50_000, 200_000), 40_000).map(it -> it.with("payload", 200)));
      heat(both("payload-2k", size(25_000, 100_000), 20_000).map(it -> it.with("payload", 2_000)));
      heat(both("payload-50k", size(2_000, 6_000), 1_500).map(it -> it.with("payload", 50_000)));
      heat(ours("repeats-50", size(50_000, 200_000), 25_000));
    }

    /** The guard beside the peers that have one, and beside handlers in transactions. */
    private void inTransactions() {
      int guard = size(8_000, 40_000);
      int shared = size(30_000, 150_000);
      Stream<Entry> transactional =
          Stream.of(
              transactional("transactional-1", 1, guard, 4_000),
              transactional("transactional-50", 50, shared, 25_000),
              transactional("transactional-1", 1, guard, 4_000)
                  .with("hot", 50)
                  .named("transactional-1-hot"),
              transactional("transactional-50", 50, shared, 20_000)
                  .with("hot", 50)
                  .named("transactional-50-hot"));
      heat(
          size(6, 20),
          Stream.concat(Stream.concat(both("guard", guard, 5_000), peers("guard")), transactional));
    }

    private static Entry transactional(String name, int shared, int messages, int rate) {
      return Entry.of(name, PIGEONHOLE, messages, rate).with("shared", shared).with("hot", 0);
    }

    /** The first two carry targets; the others show how the wait depends on the load. */
    private void latency() {
      heat(Stream.of(latency(500, 1).named("latency"), latency(500, 2)));
      heat(
          Stream.of(latency(100, 1), latency(100, 2), latency(2_000, 1), latency(2_000, 2))
              .map(it -> it.rounds(options.quick() ? 1 : 3)));
    }

    private Entry latency(int rate, int processes) {
      String row = "latency-" + rate + (processes == 1 ? "" : "-two");
      return Entry.of("latency", PIGEONHOLE, 0, rate)
          .named(row)
          .with("rate", rate)
          .with("processes", processes)
          .lasting(options.quick() ? 3 : 20);
    }

    private void order() {
      int rounds = options.quick() ? 2 : 3;
      heat(
          Stream.of(
                  Entry.of("ordered-1", PIGEONHOLE, size(4_000, 10_000), 2_000).with("keys", 1),
                  Entry.of("ordered-100", PIGEONHOLE, size(30_000, 100_000), 15_000)
                      .with("keys", 100),
                  Entry.of("ordered-10000", PIGEONHOLE, size(50_000, 150_000), 20_000)
                      .with("keys", 10_000))
              .map(it -> it.rounds(rounds)));
    }

    private void workers() {
      int messages = size(50_000, 300_000);
      heat(
          Stream.of(1, 2, 4)
              .map(
                  count ->
                      Entry.of("workers-" + count, PIGEONHOLE, messages, 15_000)
                          .with("workers", count)
                          .rounds(options.quick() ? 2 : 3)));
    }

    /** What lies in the tables already, beside the same work without it. */
    private void withOldRows() {
      int rounds = options.quick() ? 2 : 3;
      int messages = size(60_000, 300_000);
      Entry grown = Entry.of("grown", PIGEONHOLE, messages, 38_000).rounds(rounds);
      heat(
          Stream.of(
              grown.comparedWith("grown-empty", "end-to-end"), grown.with("rows", grownRows)));

      Entry held = Entry.of("held-snapshot", PIGEONHOLE, 0, 30_000).rounds(1);
      // Shorter, because the same speed over a longer time is no easier to keep.
      heat(
          Stream.of(
              held.with("held", 0).lasting(Math.max(1, heldSeconds / 3)).named("held-snapshot-off"),
              held.with("held", 1).lasting(heldSeconds)));

      heat(
          Stream.of(
              Entry.of("backlog", PIGEONHOLE, size(100_000, 1_000_000), 20_000)
                  .heap(options.quick() ? 64 : 256)
                  .rounds(options.quick() ? 1 : 3)));

      Entry notDue = Entry.of("not-due", PIGEONHOLE, messages, 38_000).rounds(rounds);
      heat(
          Stream.of(
              notDue.comparedWith("not-due-empty", "end-to-end"),
              notDue.with("rows", rows(ROWS_NOT_DUE))));

      Entry prune = Entry.of("prune", PIGEONHOLE, messages, 38_000).rounds(rounds);
      heat(
          Stream.of(
              prune.with("rows", 0).named("prune-nothing"),
              prune.with("rows", rows(size(300_000, 2_000_000)))));
    }

    /** To publish what is consumed then takes its time as well. */
    private void fromBrokers() {
      heat(size(10, 30), both(Brokers.RABBITMQ, size(30_000, 100_000), 7_000));
      heat(size(10, 30), both(Brokers.KAFKA, size(60_000, 300_000), 20_000));
    }

    /** Whoever asks for fewer rows wants them nowhere. */
    private int rows(int usual) {
      return options.growthRows() > 0 ? Math.min(usual, options.growthRows()) : usual;
    }

    private int size(int quick, int whole) {
      return options.quick() ? quick : whole;
    }

    private Stream<Entry> ours(String scenario, int messages, int usualRate) {
      return Stream.of(Entry.of(scenario, PIGEONHOLE, messages, usualRate));
    }

    private Stream<Entry> both(String scenario, int messages, int usualRate) {
      return Stream.concat(
          options.store() == Store.POSTGRES
              ? Stream.of(Entry.of(scenario, FLOOR, messages, usualRate))
              : Stream.of(),
          ours(scenario, messages, usualRate));
    }

    private Stream<Entry> peers(String scenario) {
      return options.peers().stream()
          .map(Peer::named)
          .filter(peer -> peer.messages(scenario) > 0)
          .map(
              peer ->
                  Entry.of(
                          scenario,
                          peer.text(),
                          size(peer.messages(scenario), 2 * peer.messages(scenario)),
                          peer.usualRate(scenario))
                      .rounds(options.quick() ? 2 : 3));
    }

    private void heat(Stream<Entry> entries) {
      heat(0, entries);
    }

    /** Whoever asks for so many messages is in a hurry. */
    private void heat(int warmSeconds, Stream<Entry> entries) {
      List<Entry> wanted = entries.filter(this::wanted).map(this::adjusted).toList();
      if (!wanted.isEmpty()) {
        heats.add(new Heat(wanted, options.messages() > 0 ? 0 : warmSeconds));
      }
    }

    private boolean wanted(Entry entry) {
      return runsOn(options.store(), entry.scenario())
          && (options.store() != Store.H2 || entry.options().getOrDefault("processes", 1) == 1)
          && (options.scenarios().isEmpty()
              ? wantedUnasked(entry.scenario())
              : options.scenarios().contains(entry.scenario()));
    }

    private boolean wantedUnasked(String scenario) {
      return !FROM_BROKERS.contains(scenario)
          && (options.store() == Store.POSTGRES || !WITH_MANY_ROWS.contains(scenario));
    }

    private Entry adjusted(Entry entry) {
      Entry adjusted = options.rounds() > 0 ? entry.rounds(options.rounds()) : entry;
      return options.messages() > 0 && !entry.timed()
          ? adjusted.messages(options.messages())
          : adjusted;
    }
  }
}
