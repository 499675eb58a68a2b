/** Messages from Kafka, whose offsets are committed only after the messages are durable. */
@NullMarked
package dev.pigeonhole.kafka;

import org.jspecify.annotations.NullMarked;
