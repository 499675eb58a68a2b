package dev.pigeonhole.benchmarks;

import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Who is measured besides ourselves and the floor. Each gets as many messages as it takes a few
 * seconds for; the rates are what they reached on two cores, and tell how long a run will take.
 */
enum Peer {
  SEED_ARTICLE("seed-article", true, 16_000, 5_500, 0, 0),
  SEED_INBOX("seed-inbox", true, 5_000, 2_200, 0, 0),
  DB_SCHEDULER("db-scheduler", true, 16_000, 9_500, 0, 0),
  TRANSACTION_OUTBOX("transaction-outbox", true, 10_000, 5_500, 0, 0),
  SPRING_INTEGRATION("spring-integration", true, 10_000, 6_000, 10_000, 8_000),
  EVENTUATE("eventuate", true, 0, 0, 10_000, 7_000),
  JOBRUNR("jobrunr", false, 6_000, 2_500, 0, 0),
  SPRING_MODULITH("spring-modulith", false, 8_000, 3_300, 0, 0),
  NAMASTACK("namastack", false, 8_000, 4_000, 0, 0),
  DBOS("dbos", false, 6_000, 1_000, 0, 0),
  CAMEL("camel", false, 0, 0, 10_000, 3_500);

  private final String text;
  private final boolean quick;
  private final int endToEnd;
  private final int endToEndRate;
  private final int guard;
  private final int guardRate;

  Peer(String text, boolean quick, int endToEnd, int endToEndRate, int guard, int guardRate) {
    this.text = text;
    this.quick = quick;
    this.endToEnd = endToEnd;
    this.endToEndRate = endToEndRate;
    this.guard = guard;
    this.guardRate = guardRate;
  }

  /** Those of a quick run, or all. */
  static List<String> names(boolean quick) {
    return Arrays.stream(values()).filter(it -> it.quick || !quick).map(it -> it.text).toList();
  }

  static Peer named(String name) {
    return Arrays.stream(values()).filter(it -> it.text.equals(name)).findFirst().orElseThrow();
  }

  String text() {
    return text;
  }

  /** Two loops out of the documents that this library began with, and no libraries. */
  boolean seed() {
    return this == SEED_ARTICLE || this == SEED_INBOX;
  }

  /** Our own classes; null for a library, which has a class path of its own. */
  @Nullable String subjectClass() {
    return switch (this) {
      case SEED_ARTICLE -> "dev.pigeonhole.benchmarks.seeds.ArticleSubject";
      case SEED_INBOX -> "dev.pigeonhole.benchmarks.seeds.SeedInboxSubject";
      default -> null;
    };
  }

  /** Messages of a quick round of the scenario; 0 for one it takes no part in. */
  int messages(String scenario) {
    return switch (scenario) {
      case "end-to-end" -> endToEnd;
      case "guard" -> guard;
      default -> 0;
    };
  }

  /** Messages a second, roughly. */
  int usualRate(String scenario) {
    return scenario.equals("guard") ? guardRate : endToEndRate;
  }
}
