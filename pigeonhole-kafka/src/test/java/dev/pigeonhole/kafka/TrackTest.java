package dev.pigeonhole.kafka;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.junit.jupiter.api.Test;

class TrackTest {
  private final Track track = new Track(new TopicPartition("orders", 3));

  @Test
  void nothingIsCommittedBeforeSomethingIsFinished() {
    track.add(Records.at(10));
    track.readTo(new OffsetAndMetadata(11));

    assertThat(track.takeCommit()).isNull();
  }

  @Test
  void whatIsFinishedIsCommittedOnceWithItsEpoch() {
    track.finish(track.add(Records.at(10)));

    assertThat(track.takeCommit()).isEqualTo(new OffsetAndMetadata(11, Optional.of(7), ""));
    assertThat(track.takeCommit()).isNull();
  }

  @Test
  void aCommitThatFailedIsMadeAgain() {
    track.finish(track.add(Records.at(10)));
    OffsetAndMetadata first = track.takeCommit();
    track.forgetCommit();

    assertThat(track.takeCommit()).isEqualTo(first);
  }

  @Test
  void theFirstThatIsNotFinishedHoldsTheWatermark() {
    Held first = track.add(Records.at(10));
    Held second = track.add(Records.at(12)); // a compacted topic has gaps
    Held third = track.add(Records.at(13));
    track.finish(third);
    track.finish(second);
    assertThat(track.takeCommit()).isNull();

    track.finish(first);
    assertThat(track.takeCommit().offset()).isEqualTo(14);
  }

  @Test
  void theEndOfATransactionIsPassedWhenEverythingBeforeItIsFinished() {
    Held held = track.add(Records.at(10));
    track.readTo(new OffsetAndMetadata(12));
    assertThat(track.takeCommit()).isNull();

    track.finish(held);
    assertThat(track.takeCommit().offset()).isEqualTo(12);
  }

  @Test
  void kf10_theWatermarkNeverPassesWhatIsUnfinishedWhateverTheOrder() {
    Random random = new Random(42);
    for (int round = 0; round < 200; round++) {
      Track any = new Track(new TopicPartition("orders", round));
      List<Held> open = new ArrayList<>();
      Set<Long> unfinished = new HashSet<>();
      for (long offset = 0; offset < 50; offset++) {
        open.add(any.add(Records.at(offset)));
        unfinished.add(offset);
        any.readTo(new OffsetAndMetadata(offset + 1));
      }
      Collections.shuffle(open, random);
      long last = 0;
      for (Held held : open) {
        unfinished.remove(held.next().offset() - 1);
        any.finish(held);
        OffsetAndMetadata commit = any.takeCommit();
        long watermark = commit == null ? last : commit.offset();
        assertThat(watermark).isGreaterThanOrEqualTo(last);
        assertThat(unfinished).allMatch(offset -> offset >= watermark);
        last = watermark;
      }
      assertThat(last).isEqualTo(50);
    }
  }

  @Test
  void itIsFullWithTooManyUnfinishedOnes() {
    List<Held> open = new ArrayList<>();
    for (int i = 0; i < 20; i++) {
      assertThat(track.isFull(10)).isFalse();
      open.add(track.add(Records.at(i)));
    }
    assertThat(track.isFull(10)).isTrue();

    track.finish(open.get(7));
    assertThat(track.isFull(10)).isFalse();
  }

  @Test
  void itIsFullWithTooManyFinishedOnesBehindOneThatIsNot() {
    Held first = track.add(Records.at(0));
    for (int i = 1; i < 100; i++) {
      track.finish(track.add(Records.at(i)));
    }
    assertThat(track.isFull(10)).isTrue();

    track.finish(first);
    assertThat(track.isFull(10)).isFalse();
    assertThat(track.takeCommit().offset()).isEqualTo(100);
  }

  @Test
  void itIsFullWithTooManyBytes() {
    Held large = track.add(Records.record(0, null, new byte[10_000_000], new RecordHeaders()));
    assertThat(track.isFull(10)).isTrue();

    track.finish(large);
    assertThat(track.isFull(10)).isFalse();
  }
}
