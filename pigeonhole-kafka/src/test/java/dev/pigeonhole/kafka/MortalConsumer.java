package dev.pigeonhole.kafka;

import dev.pigeonhole.support.Ledger;
import dev.pigeonhole.transport.Disposition;
import dev.pigeonhole.transport.Envelope;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A process that takes records into a ledger, as an inbox takes them into its store, and dies
 * before or after a commit of it.
 */
final class MortalConsumer {
  static final int DIED = 9;

  private static final int BATCH = 10;
  private static final int LIVES = 3;

  /** How many records one of them takes at most, and the batch that it dies with. */
  static final int MOST_TAKEN = BATCH * LIVES;

  private MortalConsumer() {}

  /** Its instance comes back under the same name, so that nobody waits for the dead one. */
  static Map<String, Object> config(String bootstrap, String group) {
    return new HashMap<>(
        Map.of("bootstrap.servers", bootstrap, "group.id", group, "group.instance.id", "mortal"));
  }

  public static void main(String[] args) throws InterruptedException {
    int seed = Integer.parseInt(args[4]);
    AtomicInteger batches = new AtomicInteger();
    Ledger store = Ledger.open(Path.of(args[3]));
    KafkaSource.topic(config(args[0], args[1]), args[2])
        .batch(BATCH)
        .start(
            envelopes -> {
              boolean last = batches.incrementAndGet() > seed % LIVES;
              return accept(envelopes, store, last && seed % 2 == 0, last && seed % 2 == 1);
            });
    Thread.currentThread().join(); // until it dies
  }

  private static List<Disposition> accept(
      List<Envelope> envelopes, Ledger store, boolean diesBefore, boolean diesAfter) {
    if (diesBefore) {
      Runtime.getRuntime().halt(DIED); // the store does not have it
    }
    List<Disposition> answers = new ArrayList<>();
    for (Envelope envelope : envelopes) {
      store.append(envelope.id().orElseThrow());
      answers.add(new Disposition.Done());
    }
    if (diesAfter) {
      Runtime.getRuntime().halt(DIED); // the store has it, and the group does not know
    }
    return answers;
  }
}
