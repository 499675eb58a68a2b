package dev.pigeonhole.kafka;

import dev.pigeonhole.ErrorCode;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ListOffsetsOptions;
import org.apache.kafka.clients.admin.ListOffsetsResult.ListOffsetsResultInfo;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.common.IsolationLevel;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.TopicPartition;
import org.jspecify.annotations.Nullable;

/**
 * Looks for transactions that somebody has opened and forgotten. Whoever reads only what is
 * committed gets nothing behind the beginning of one, and no error either: the topic looks idle.
 * Asks without waiting for the answer. For one thread.
 */
final class OpenTransactions {

  private record Seen(long stable, long since) {}

  private record Asked(
      KafkaFuture<Map<TopicPartition, ListOffsetsResultInfo>> stable,
      KafkaFuture<Map<TopicPartition, ListOffsetsResultInfo>> last) {}

  private final Duration tolerated;
  private final Supplier<Admin> admin;
  private final Troubles troubles;
  private final LongSupplier nanos;
  private final Map<TopicPartition, Seen> seen = new HashMap<>();
  private @Nullable Asked asked;
  private long nextLook;

  OpenTransactions(
      Duration tolerated, Supplier<Admin> admin, Troubles troubles, LongSupplier nanos) {
    this.tolerated = tolerated;
    this.admin = admin;
    this.troubles = troubles;
    this.nanos = nanos;
    this.nextLook = nanos.getAsLong();
  }

  /** Asks if it is time to, and reads the answer if it is there. */
  void look(Collection<TopicPartition> partitions) {
    long now = nanos.getAsLong();
    Asked open = asked;
    if (open == null) {
      if (now - nextLook >= 0 && !partitions.isEmpty()) {
        ask(partitions);
        nextLook = now + tolerated.dividedBy(4).toNanos();
      }
    } else if (open.stable.isDone() && open.last.isDone()) {
      asked = null;
      read(open, now);
    }
  }

  private void ask(Collection<TopicPartition> partitions) {
    Map<TopicPartition, OffsetSpec> ends = new HashMap<>();
    partitions.forEach(each -> ends.put(each, OffsetSpec.latest()));
    try {
      asked =
          new Asked(
              end(ends, IsolationLevel.READ_COMMITTED), end(ends, IsolationLevel.READ_UNCOMMITTED));
    } catch (KafkaException e) {
      // Whoever looks at the topics says what is wrong.
    }
  }

  private KafkaFuture<Map<TopicPartition, ListOffsetsResultInfo>> end(
      Map<TopicPartition, OffsetSpec> ends, IsolationLevel isolation) {
    return admin.get().listOffsets(ends, new ListOffsetsOptions(isolation)).all();
  }

  private void read(Asked answer, long now) {
    try {
      Map<TopicPartition, ListOffsetsResultInfo> last = answer.last.get();
      answer.stable.get().forEach((each, end) -> compare(each, end.offset(), last.get(each), now));
    } catch (ExecutionException e) {
      // Nobody knows now; the next look may.
    } catch (InterruptedException e) { // both are done, so nobody waits
      Thread.currentThread().interrupt();
    }
  }

  private void compare(
      TopicPartition partition, long stable, @Nullable ListOffsetsResultInfo last, long now) {
    Seen before = seen.get(partition);
    if (last == null || last.offset() <= stable) {
      seen.remove(partition);
      troubles.over(place(partition));
    } else if (before == null || before.stable != stable) {
      seen.put(partition, new Seen(stable, now));
      troubles.over(place(partition));
    } else if (now - before.since >= tolerated.toNanos()) {
      troubles.report(
          place(partition),
          ErrorCode.KAFKA_TRANSACTION_OPEN,
          ("A transaction has been open in %s since offset %d for more than %s: %d offsets behind"
                  + " it cannot be read. Let its producer end it, or abort it with"
                  + " kafka-transactions.sh.")
              .formatted(partition, stable, tolerated, last.offset() - stable),
          null);
    }
  }

  /** The partition is somebody else's now. */
  void forget(TopicPartition partition) {
    seen.remove(partition);
    troubles.forget(place(partition));
  }

  private static String place(TopicPartition partition) {
    return "transactions of " + partition;
  }
}
