package dev.pigeonhole.micrometer;

import dev.pigeonhole.Interceptor;
import io.micrometer.common.KeyValue;
import java.util.Optional;

/** The words of meters for how an attempt ends. */
final class Outcomes {
  private Outcomes() {}

  static String word(Optional<Interceptor.End> end) {
    return end.map(Interceptor.End::word).orElse(KeyValue.NONE_VALUE);
  }
}
