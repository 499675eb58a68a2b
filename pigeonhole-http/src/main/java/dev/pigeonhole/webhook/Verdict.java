package dev.pigeonhole.webhook;

import dev.pigeonhole.ErrorCode;
import java.time.Duration;
import java.time.Instant;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** What a signature says of a request. */
enum Verdict {
  GENUINE(null),
  WRONG(ErrorCode.SIGNATURE_WRONG),
  OUT_OF_TIME(ErrorCode.SIGNATURE_OUT_OF_TIME);

  // More digits would be milliseconds, or no time at all.
  private static final Pattern SECONDS = Pattern.compile("[0-9]{1,11}");

  private final @Nullable ErrorCode code;

  Verdict(@Nullable ErrorCode code) {
    this.code = code;
  }

  /** Why it is not genuine; null where it is. */
  @Nullable ErrorCode code() {
    return code;
  }

  /** Of a request that was signed together with this time, in seconds since 1970. */
  static Verdict at(String seconds, Instant now, Duration tolerance) {
    if (!SECONDS.matcher(seconds).matches()) {
      return OUT_OF_TIME;
    }
    Instant signed = Instant.ofEpochSecond(Long.parseLong(seconds));
    return Duration.between(signed, now).abs().compareTo(tolerance) <= 0 ? GENUINE : OUT_OF_TIME;
  }
}
