package dev.pigeonhole.proofs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.admin.BulkChange;
import dev.pigeonhole.admin.ChangeResult;
import dev.pigeonhole.admin.InboxAdmin;
import dev.pigeonhole.store.StoreException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

/**
 * Somebody who operates the inbox while everything else goes wrong: pauses a handler and lets it go
 * on, retries whatever is poisoned, and gives everything to a handler that came with a later
 * version. What the database interrupts is done again under the same name.
 */
final class Operator implements Runnable {
  /** A message may become visible so much later than its time of receipt says. */
  private static final Duration LATE = Duration.ofSeconds(10);

  private static final Duration BETWEEN = Duration.ofSeconds(2);

  private final InboxAdmin admin;
  private final BooleanSupplier over;
  private final List<ChangeResult> retries = new ArrayList<>();
  private final List<ChangeResult> replays = new ArrayList<>();
  private Instant replayedTo = Instant.EPOCH;
  private int pauses;

  Operator(InboxAdmin admin, BooleanSupplier over) {
    this.admin = admin.as("operator");
    this.over = over;
  }

  @Override
  public void run() {
    while (!over.getAsBoolean()) {
      insist(() -> admin.pause("plain", "a look at it"));
      pauses++;
      rest();
      insist(() -> admin.resume("plain", "nothing found"));
      retryAll();
      replayUpTo(Instant.now().minus(LATE));
      rest();
    }
  }

  /** Retries what is poisoned now. */
  void retryAll() {
    String name = "retry-" + retries.size();
    retries.add(
        finish(admin.deliveries().handler("fragile-tx").retry("try again").operation(name)));
  }

  /** Gives what came since the last time to the handler of the later version, once. */
  void replayUpTo(Instant end) {
    if (!knowsLaterVersion()) {
      return;
    }
    String name = "replay-" + replays.size();
    replays.add(
        finish(
            admin
                .messages()
                .source("producer")
                .receivedFrom(replayedTo)
                .receivedBefore(end)
                .replay("backfill-tx", "came with the later version")
                .atMost(1_000_000)
                .operation(name)));
    replayedTo = end;
  }

  private boolean knowsLaterVersion() {
    boolean[] known = new boolean[1];
    insist(
        () ->
            known[0] =
                admin.counts().stream().anyMatch(each -> each.handler().equals("backfill-tx")));
    return known[0];
  }

  private static ChangeResult finish(BulkChange change) {
    ChangeResult[] result = new ChangeResult[1];
    insist(() -> result[0] = change.run());
    assertThat(result[0].finished()).isTrue();
    return result[0];
  }

  /** Does it again until the database lets it through. */
  private static void insist(Runnable work) {
    while (true) {
      try {
        work.run();
        return;
      } catch (StoreException e) {
        rest();
      }
    }
  }

  int pauses() {
    return pauses;
  }

  long retried() {
    return retries.stream().mapToLong(ChangeResult::changed).sum();
  }

  long replayed() {
    return replays.stream().mapToLong(ChangeResult::changed).sum();
  }

  private static void rest() {
    try {
      TimeUnit.NANOSECONDS.sleep(BETWEEN.toNanos());
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }
}
