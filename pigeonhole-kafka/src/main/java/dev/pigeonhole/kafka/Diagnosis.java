package dev.pigeonhole.kafka;

import dev.pigeonhole.ErrorCode;
import org.apache.kafka.common.InvalidRecordException;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.errors.AuthenticationException;
import org.apache.kafka.common.errors.AuthorizationException;
import org.apache.kafka.common.errors.CorruptRecordException;
import org.apache.kafka.common.errors.InvalidTopicException;
import org.apache.kafka.common.errors.RecordTooLargeException;
import org.apache.kafka.common.errors.UnknownTopicIdException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;

/** What an exception of the client means for people, and what they can do. */
enum Diagnosis {
  TOPIC(
      ErrorCode.KAFKA_TOPIC_MISSING,
      "Create the topic, or correct its name; it is read as soon as it is there."),
  RIGHTS(
      ErrorCode.KAFKA_FORBIDDEN,
      "Correct the user, or let it read the topic and the group; it is tried again."),
  RECORD(
      ErrorCode.KAFKA_RECORD_UNREADABLE,
      "Compare the settings of the fetch with the topic's max.message.bytes, and the log of the"
          + " broker. If the record is damaged, set the group's offset behind it while the source"
          + " is stopped."),
  GROUP(
      ErrorCode.KAFKA_GROUP,
      "Look at the brokers and at the group; it is tried again, and nothing is lost.");

  private final ErrorCode code;
  private final String wayOut;

  Diagnosis(ErrorCode code, String wayOut) {
    this.code = code;
    this.wayOut = wayOut;
  }

  /** By what is deepest inside, for the client wraps what brokers say. */
  static Diagnosis of(Throwable failure) {
    Diagnosis diagnosis = GROUP;
    int depth = 0;
    for (Throwable each = failure; each != null && depth < 10; each = each.getCause(), depth++) {
      if (each instanceof UnknownTopicOrPartitionException
          || each instanceof UnknownTopicIdException
          || each instanceof InvalidTopicException) {
        diagnosis = TOPIC;
      } else if (each instanceof AuthorizationException
          || each instanceof AuthenticationException) {
        diagnosis = RIGHTS;
      } else if (each instanceof CorruptRecordException
          || each instanceof InvalidRecordException
          || each instanceof RecordTooLargeException
          || saysThatItCannotReadARecord(each)) {
        diagnosis = RECORD;
      }
    }
    return diagnosis;
  }

  /**
   * The client knows what is wrong, and throws its plainest exception nevertheless: only the words
   * tell that a checksum is wrong, here or at the broker. A guess that is wrong costs a wrong hint.
   */
  private static boolean saysThatItCannotReadARecord(Throwable failure) {
    String words = String.valueOf(failure.getMessage());
    return failure.getClass() == KafkaException.class
        && (words.contains("fetching the next record") || words.contains("corrupt message"));
  }

  ErrorCode code() {
    return code;
  }

  /**
   * @param what the beginning of the sentence
   */
  void report(Troubles troubles, String place, String what, Throwable cause) {
    troubles.report(
        place,
        code,
        "%s: %s: %s. %s"
            .formatted(what, cause.getClass().getSimpleName(), cause.getMessage(), wayOut),
        cause);
  }
}
