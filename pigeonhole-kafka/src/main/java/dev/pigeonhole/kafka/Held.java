package dev.pigeonhole.kafka;

import dev.pigeonhole.transport.Disposition;
import java.time.Duration;
import java.util.Objects;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.jspecify.annotations.Nullable;

/**
 * A record that was read, until the watermark of its partition has passed it. Belongs to the thread
 * of the consumer, but for what {@link HandIn} reads while that thread leaves it alone.
 */
final class Held {
  private static final Duration FIRST_REST = Duration.ofMillis(200);
  private static final Duration LONGEST_REST = Duration.ofSeconds(30);

  private final Track track;
  private final OffsetAndMetadata next;
  private @Nullable ConsumerRecord<byte[], byte[]> record;
  private Disposition.@Nullable Refused refused;
  private int rests;
  private long dueNanos;

  Held(Track track, ConsumerRecord<byte[], byte[]> record) {
    this.track = track;
    this.record = record;
    // With the epoch a broker can tell that it has lost what we read.
    this.next = new OffsetAndMetadata(record.offset() + 1, record.leaderEpoch(), "");
  }

  Track track() {
    return track;
  }

  /** What to commit when everything up to here is finished. */
  OffsetAndMetadata next() {
    return next;
  }

  ConsumerRecord<byte[], byte[]> record() {
    return Objects.requireNonNull(record, "finished");
  }

  boolean isFinished() {
    return record == null;
  }

  /** From now on only its place is kept, not its content. */
  void finish() {
    record = null;
    refused = null;
  }

  /** Why it is to be parked: it must not be handed in again. */
  Disposition.@Nullable Refused refused() {
    return refused;
  }

  void refuse(Disposition.Refused why) {
    refused = why;
  }

  /** Let it wait for its next turn, each time for longer. */
  void rest(long now) {
    dueNanos = now + Backoff.after(rests++, FIRST_REST, LONGEST_REST).toNanos();
  }

  /** How long it still has to wait; zero or less if it does not. */
  long waitNanos(long now) {
    return dueNanos - now;
  }

  int size() {
    ConsumerRecord<byte[], byte[]> present = record;
    return present == null
        ? 0
        : Math.max(0, present.serializedKeySize()) + Math.max(0, present.serializedValueSize());
  }
}
