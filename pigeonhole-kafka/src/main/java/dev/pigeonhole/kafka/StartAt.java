package dev.pigeonhole.kafka;

/**
 * Where a {@link KafkaSource} begins in a partition for which its group has committed no offset,
 * because it is new there or was away for so long that the broker has forgotten it.
 */
public enum StartAt {

  /** With the oldest record that is there. What the inbox knows is a repeat. */
  EARLIEST,

  /** Not at all: the partition stands still with {@code PH-KFK-03} until somebody has decided. */
  NONE
}
