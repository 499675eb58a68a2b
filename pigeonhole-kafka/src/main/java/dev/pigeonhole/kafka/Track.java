package dev.pigeonhole.kafka;

import java.util.ArrayDeque;
import java.util.Deque;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.jspecify.annotations.Nullable;

/**
 * How far a partition is read, and up to where everything is finished: the watermark, which is all
 * that is ever committed. Records may finish in any order; one that does not keeps the watermark
 * before it.
 *
 * <p>A partition that is given to us again gets a new one, so an answer that comes late finds its
 * own {@linkplain #isGone gone} and changes nothing. For one thread.
 */
final class Track {
  // What is beyond the watermark comes again after a crash, and what is unfinished is in memory.
  private static final int MOST_AHEAD_IN_BATCHES = 10;
  private static final long MOST_BYTES = 10_000_000;

  private final TopicPartition partition;
  private final Deque<Held> ahead = new ArrayDeque<>();
  private @Nullable OffsetAndMetadata read;
  private @Nullable OffsetAndMetadata finished;
  private @Nullable OffsetAndMetadata committed;
  private int unfinished;
  private long bytes;
  private boolean stopped;
  private boolean gone;

  Track(TopicPartition partition) {
    this.partition = partition;
  }

  TopicPartition partition() {
    return partition;
  }

  /** What {@link Troubles} call it. */
  String place() {
    return "partition " + partition;
  }

  Held add(ConsumerRecord<byte[], byte[]> record) {
    Held held = new Held(this, record);
    ahead.addLast(held);
    unfinished++;
    bytes += held.size();
    return held;
  }

  /**
   * Where the consumer reads next, after the records before it were added. It may be beyond the
   * last of them: the end of a transaction has a place, too, and nobody gets to see it.
   */
  void readTo(OffsetAndMetadata next) {
    read = next;
    advance();
  }

  void finish(Held held) {
    if (held.isFinished()) {
      return;
    }
    unfinished--;
    bytes -= held.size();
    held.finish();
    advance();
  }

  private void advance() {
    for (Held first = ahead.peekFirst();
        first != null && first.isFinished();
        first = ahead.peekFirst()) {
      finished = first.next();
      ahead.removeFirst();
    }
    if (ahead.isEmpty()
        && read != null
        && (finished == null || finished.offset() < read.offset())) {
      finished = read;
    }
  }

  /** The watermark, if it is further than what was committed last; it counts as committed then. */
  @Nullable OffsetAndMetadata takeCommit() {
    if (finished == null || finished.equals(committed)) {
      return null;
    }
    committed = finished;
    return finished;
  }

  /** Nobody knows what is committed: the next time it is done again. */
  void forgetCommit() {
    committed = null;
  }

  /** Whether nothing more should be read before some of it is finished. */
  boolean isFull(int batch) {
    return unfinished >= 2 * batch
        || ahead.size() >= MOST_AHEAD_IN_BATCHES * batch
        || bytes >= MOST_BYTES;
  }

  /**
   * Nothing more is read from it, and nothing beyond what is finished is committed. Answers false
   * if it stood still already: what stopped it first is to be dealt with first.
   */
  boolean stop() {
    boolean first = !stopped;
    stopped = true;
    return first;
  }

  boolean isStopped() {
    return stopped;
  }

  /** It belongs to somebody else now. */
  void leave() {
    gone = true;
  }

  boolean isGone() {
    return gone;
  }
}
