package dev.pigeonhole.kafka;

import dev.pigeonhole.ErrorCode;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.BooleanSupplier;
import org.apache.kafka.clients.consumer.CloseOptions;
import org.apache.kafka.clients.consumer.CommitFailedException;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.LogTruncationException;
import org.apache.kafka.clients.consumer.NoOffsetForPartitionException;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.consumer.OffsetOutOfRangeException;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.RebalanceInProgressException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One life of a consumer in its group: reads, lets the {@link Backlog} hand in, and commits what is
 * finished.
 *
 * <p>The consumer belongs to one thread, which calls {@link #turn} again and again. Handing in
 * happens on another one, a batch at a time, and this thread polls while it waits for the answer:
 * with partitions paused once the next batch is read, so that nothing piles up. So neither a store
 * that is down nor a handler that is slow costs the membership, and with it the partitions.
 *
 * <p>Nothing is committed that the {@link Track} of a partition has not seen finished.
 */
final class GroupMember implements ConsumerRebalanceListener {
  private static final Logger LOG = LoggerFactory.getLogger(GroupMember.class);
  private static final Duration LOOK = Duration.ofMillis(50);
  private static final Duration LONGEST_POLL = Duration.ofMillis(100); // a stop waits for it
  private static final Duration COMMIT_AGAIN = Duration.ofSeconds(1);
  private static final Duration SHORTEST_CLOSE = Duration.ofSeconds(1);

  private final KafkaSource.Choices choices;
  private final Consumer<byte[], byte[]> consumer;
  private final Backlog backlog;
  private final Topics topics;
  private final OpenTransactions transactions;
  private final Troubles troubles;
  private final BooleanSupplier paused;

  private final Map<TopicPartition, Track> tracks = new HashMap<>();
  private long commitFrom = System.nanoTime();
  private boolean joined;
  private boolean leaving;

  GroupMember(
      KafkaSource.Choices choices,
      Consumer<byte[], byte[]> consumer,
      Backlog backlog,
      Topics topics,
      OpenTransactions transactions,
      Troubles troubles,
      BooleanSupplier paused) {
    this.choices = choices;
    this.consumer = consumer;
    this.backlog = backlog;
    this.topics = topics;
    this.transactions = transactions;
    this.troubles = troubles;
    this.paused = paused;
  }

  void join() {
    consumer.subscribe(choices.topics, this);
  }

  /** A short piece of work, or of waiting for some. */
  void turn() {
    topics.look();
    if (choices.settings.readsCommitted()) {
      transactions.look(tracks.keySet());
    }
    if (backlog.isHandingIn()) {
      poll(Duration.ZERO);
      backlog.awaitAnswer(LOOK);
      commit();
      return;
    }
    commit();
    if (!mayHandIn()) {
      poll(LONGEST_POLL);
    } else if (!backlog.handIn()) {
      poll(backlog.quiet(LONGEST_POLL));
    }
  }

  private boolean mayHandIn() {
    return !paused.getAsBoolean() && (!choices.id.needsTopicIds() || topics.areKnown());
  }

  // Reading

  private void poll(Duration patience) {
    pauseAndResume(paused.getAsBoolean() || backlog.isWaiting());
    ConsumerRecords<byte[], byte[]> records;
    try {
      records = consumer.poll(patience);
    } catch (NoOffsetForPartitionException e) {
      begin(e.partitions());
      return;
    } catch (OffsetOutOfRangeException e) {
      stopLost(e);
      return;
    }
    if (joined) {
      troubles.over("group");
    }
    take(records);
  }

  /** Also for partitions that were assigned since: the client does not know what we want. */
  private void pauseAndResume(boolean all) {
    Set<TopicPartition> quiet = new HashSet<>();
    for (Track track : tracks.values()) {
      if (all || track.isStopped() || track.isFull(choices.batch)) {
        quiet.add(track.partition());
      }
    }
    Set<TopicPartition> now = consumer.paused();
    if (!now.equals(quiet)) {
      Set<TopicPartition> loud = new HashSet<>(now);
      loud.removeAll(quiet);
      consumer.resume(loud);
      consumer.pause(quiet);
    }
  }

  /** What is handed out here is never handed out again to this member, paused or not. */
  private void take(ConsumerRecords<byte[], byte[]> records) {
    for (TopicPartition partition : records.partitions()) {
      Track track = tracks.get(partition);
      if (track != null && !track.isStopped()) {
        for (ConsumerRecord<byte[], byte[]> record : records.records(partition)) {
          backlog.add(track.add(record));
        }
      }
    }
    records
        .nextOffsets()
        .forEach(
            (partition, next) -> {
              Track track = tracks.get(partition);
              if (track != null && !track.isStopped()) {
                track.readTo(next);
              }
            });
  }

  /** The group has no offset there. */
  private void begin(Collection<TopicPartition> partitions) {
    consumer.seekToBeginning(partitions); // so that the client stops asking, even if we stop
    for (TopicPartition partition : partitions) {
      if (choices.startAt == StartAt.NONE) {
        stop(
            partition,
            ErrorCode.KAFKA_GROUP,
            ("Group '%s' has no offset for %s: it is new there, or was away for so long that it was"
                    + " forgotten. Set one with kafka-consumer-groups.sh while the source is"
                    + " stopped, or say .startAt(EARLIEST), which repeats and skips nothing.")
                .formatted(choices.settings.group(), partition));
      } else {
        LOG.info(
            "Group {} has no offset for {} and begins with its oldest record",
            choices.settings.group(),
            partition);
      }
    }
  }

  /** Whatever place we chose ourselves would skip or repeat records, and nobody would know. */
  private void stopLost(OffsetOutOfRangeException e) {
    e.offsetOutOfRangePartitions()
        .forEach(
            (partition, offset) -> {
              boolean truncated = e instanceof LogTruncationException;
              if (truncated) {
                consumer.seek(partition, offset); // without its epoch, or the client asks for ever
              }
              stop(
                  partition,
                  ErrorCode.KAFKA_OFFSET_GONE,
                  ("%s has no offset %d any more: %s. Find out what is missing, set the group's"
                          + " offset with kafka-consumer-groups.sh while the source is stopped, and"
                          + " start it again.")
                      .formatted(
                          partition,
                          offset,
                          truncated
                              ? "its log was truncated, and other records may stand there now"
                              : "records were deleted before they were read, or the topic was"
                                  + " created anew"));
            });
  }

  private void stop(TopicPartition partition, ErrorCode code, String text) {
    Track track = tracks.get(partition);
    if (track != null && track.stop()) {
      troubles.report(track.place(), code, text, null);
    }
  }

  // Committing

  private void commit() {
    if (System.nanoTime() - commitFrom < 0) {
      return;
    }
    Map<TopicPartition, OffsetAndMetadata> offsets = takeCommits(tracks.keySet());
    if (!offsets.isEmpty()) {
      consumer.commitAsync(offsets, this::committed);
    }
  }

  private Map<TopicPartition, OffsetAndMetadata> takeCommits(Collection<TopicPartition> wanted) {
    Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
    for (TopicPartition partition : wanted) {
      Track track = tracks.get(partition);
      OffsetAndMetadata offset = track == null ? null : track.takeCommit();
      if (offset != null) {
        offsets.put(partition, offset);
      }
    }
    return offsets;
  }

  /** Called while this thread polls. */
  private void committed(
      Map<TopicPartition, OffsetAndMetadata> offsets, @Nullable Exception failure) {
    if (failure == null) {
      troubles.over("commit");
      return;
    }
    forgetCommits(offsets.keySet());
    commitFrom = System.nanoTime() + COMMIT_AGAIN.toNanos();
    if (failure instanceof CommitFailedException
        || failure instanceof RebalanceInProgressException) {
      LOG.debug("Offsets were not committed while the group changed: {}", offsets, failure);
    } else {
      Diagnosis.of(failure).report(troubles, "commit", "Offsets cannot be committed now", failure);
    }
  }

  private void forgetCommits(Collection<TopicPartition> partitions) {
    for (TopicPartition partition : partitions) {
      Track track = tracks.get(partition);
      if (track != null) {
        track.forgetCommit();
      }
    }
  }

  private void commitNow(Collection<TopicPartition> partitions, Duration patience) {
    forgetCommits(partitions); // one that is on its way may still fail
    Map<TopicPartition, OffsetAndMetadata> offsets = takeCommits(partitions);
    if (offsets.isEmpty()) {
      return;
    }
    try {
      consumer.commitSync(offsets, patience);
    } catch (KafkaException e) { // whoever reads there next gets repeats
      LOG.info("Offsets were not committed before leaving {}: {}", partitions, e.toString());
    }
  }

  // Coming and going, called while this thread polls or closes the consumer

  @Override
  public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
    joined = true;
    partitions.forEach(partition -> tracks.put(partition, new Track(partition)));
    if (choices.id.needsTopicIds() && !partitions.isEmpty()) {
      topics.forget();
    }
  }

  /** They are still ours until this returns. */
  @Override
  public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
    if (!leaving && backlog.isHandingIn(partitions)) {
      backlog.awaitAnswer(choices.answerBeforeMove);
    }
    commitNow(partitions, choices.commitBeforeMove);
    drop(partitions);
  }

  /** They are somebody else's already, who would be set back by a commit. */
  @Override
  public void onPartitionsLost(Collection<TopicPartition> partitions) {
    drop(partitions);
  }

  private void drop(Collection<TopicPartition> partitions) {
    for (TopicPartition partition : partitions) {
      Track track = tracks.remove(partition);
      if (track != null) {
        track.leave();
        troubles.forget(track.place());
      }
      transactions.forget(partition);
    }
    backlog.dropGone();
  }

  /** Waits for what is being handed in, commits, and lets the group know at once. */
  void leave(Duration patience) {
    long end = System.nanoTime() + patience.toNanos();
    leaving = true;
    backlog.awaitAnswer(patience);
    Duration left = Duration.ofNanos(Math.max(end - System.nanoTime(), SHORTEST_CLOSE.toNanos()));
    try {
      commitNow(List.copyOf(tracks.keySet()), left);
    } finally {
      drop(List.copyOf(tracks.keySet()));
      consumer.close(CloseOptions.timeout(left));
    }
  }
}
