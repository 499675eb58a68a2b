package dev.pigeonhole.proofs;

import dev.pigeonhole.kafka.KafkaSource;
import java.util.Map;

/**
 * A worker process that receives from Kafka. Arguments: JDBC address, user, password, address of
 * the broker, group, topic, and the topic for what is put aside.
 */
public final class KafkaWorker {
  private KafkaWorker() {}

  public static void main(String[] args) throws Exception {
    Map<String, Object> settings =
        Map.of(
            "bootstrap.servers",
            args[SourceWorker.ARGUMENTS],
            "group.id",
            args[SourceWorker.ARGUMENTS + 1],
            // So that the dead need not be missed for long.
            "session.timeout.ms",
            KafkaBroker.SESSION_MILLIS,
            "heartbeat.interval.ms",
            KafkaBroker.SESSION_MILLIS / 10,
            "request.timeout.ms",
            KafkaBroker.SESSION_MILLIS,
            "default.api.timeout.ms",
            KafkaBroker.SESSION_MILLIS * 2,
            "reconnect.backoff.max.ms",
            200,
            "fetch.max.wait.ms",
            100);
    KafkaSource source =
        KafkaSource.topic(settings, args[SourceWorker.ARGUMENTS + 2])
            .parkingIn(args[SourceWorker.ARGUMENTS + 3]);
    SourceWorker.work(args, source, source::trouble);
  }
}
