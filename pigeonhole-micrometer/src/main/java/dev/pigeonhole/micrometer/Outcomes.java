package dev.pigeonhole.micrometer;

import dev.pigeonhole.Interceptor;
import io.micrometer.common.KeyValue;
import java.util.Optional;

/** The words of meters for how an attempt ends. */
final class Outcomes {
  private Outcomes() {}

  static String word(Optional<Interceptor.End> end) {
    if (end.isEmpty()) {
      return KeyValue.NONE_VALUE;
    }
    return switch (end.get()) {
      case COMPLETED -> "completed";
      case RETRIED -> "retry";
      case POISONED -> "poisoned";
      case TIMED_OUT -> "timeout";
      case RELEASED -> "released";
    };
  }
}
