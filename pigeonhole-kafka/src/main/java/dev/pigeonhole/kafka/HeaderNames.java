package dev.pigeonhole.kafka;

import java.util.List;

/** What our headers are called in records: part of the format. */
final class HeaderNames {
  static final String ID = "pigeonhole-id";
  static final String TYPE = "pigeonhole-type";
  static final String CONTENT_TYPE = "content-type";

  // Of a record that was parked.
  static final String CODE = "pigeonhole-code";
  static final String REASON = "pigeonhole-reason";
  static final String TOPIC = "pigeonhole-topic";
  static final String PARTITION = "pigeonhole-partition";
  static final String OFFSET = "pigeonhole-offset";
  static final String TIMESTAMP = "pigeonhole-timestamp";

  static final List<String> OF_PARKED = List.of(CODE, REASON, TOPIC, PARTITION, OFFSET, TIMESTAMP);

  /** Nobody else writes them. */
  static final List<String> OWN =
      List.of(ID, TYPE, CODE, REASON, TOPIC, PARTITION, OFFSET, TIMESTAMP);

  private HeaderNames() {}
}
