package dev.pigeonhole.internal.dispatch;

import static org.assertj.core.api.Assertions.assertThat;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.Failure;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.PoisonException;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.sql.SQLException;
import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Whatever a handler throws can be saved. */
class FailuresTest {
  private static final Instant NOW = Instant.parse("2026-03-01T12:00:00.123456789Z");

  private static Failure of(Throwable thrown) {
    Failure failure = Failures.of(thrown, NOW);
    for (String text : List.of(failure.type(), failure.message(), failure.stack())) {
      assertThat(StandardCharsets.UTF_8.newEncoder().canEncode(text)).isTrue();
      assertThat(text.chars()).noneMatch(c -> Character.isISOControl(c) && c != '\n' && c != '\t');
    }
    assertThat(failure.message()).hasSizeLessThanOrEqualTo(2_000);
    assertThat(failure.stack()).hasSizeLessThanOrEqualTo(8_000);
    assertThat(failure.fingerprint()).isNotEmpty().hasSizeLessThanOrEqualTo(200);
    return failure;
  }

  @Test
  void anOrdinaryFailureIsKeptAsItIs() {
    Failure failure = of(new IllegalStateException("Größe 😀\n\tsecond line"));

    assertThat(failure.code()).isEqualTo(ErrorCode.HANDLER_FAILED);
    assertThat(failure.type()).isEqualTo("java.lang.IllegalStateException");
    assertThat(failure.message()).isEqualTo("Größe 😀\n\tsecond line");
    assertThat(failure.stack()).contains("FailuresTest.anOrdinaryFailureIsKeptAsItIs");
    assertThat(failure.at()).isEqualTo(Instant.parse("2026-03-01T12:00:00.123456Z"));
  }

  @Test
  void ourOwnErrorsKeepTheirCode() {
    assertThat(of(new PoisonException("no such account")).code())
        .isEqualTo(ErrorCode.HANDLER_POISONED);
    assertThat(of(new InboxException(ErrorCode.HANDLER_TIMED_OUT, "late")).code())
        .isEqualTo(ErrorCode.HANDLER_TIMED_OUT);
  }

  @Test
  void aMissingMessageIsEmpty() {
    assertThat(of(new IllegalStateException()).message()).isEmpty();
    assertThat(of(new IllegalStateException((String) null)).message()).isEmpty();
  }

  @Test
  void whatADatabaseRefusesIsEscaped() {
    assertThat(of(new IllegalStateException("a\0b\u001bc\r\nd")).message())
        .isEqualTo("a\\u0000b\\u001Bc\nd");
    assertThat(of(new IllegalStateException("\uD83Dx\uDE00😀\uD83D")).message())
        .isEqualTo("\\uD83Dx\\uDE00😀\\uD83D");
  }

  @Test
  void longTextIsCutBetweenCharacters() {
    assertThat(of(new IllegalStateException("x".repeat(5_000))).message()).hasSize(2_000);
    assertThat(of(new IllegalStateException("x" + "😀".repeat(5_000))).message()).hasSize(1_999);
    assertThat(of(new IllegalStateException("x".repeat(1_997) + "\0")).message()).hasSize(1_997);
    assertThat(of(new IllegalStateException("\0".repeat(10_000_000))).message())
        .hasSizeBetween(1_990, 2_000);
  }

  /** The values of the row that was refused are in the further lines of PostgreSQL's message. */
  @Test
  void aLineBreakAtTheEndOfAnSqlErrorIsNoDetail() {
    SQLException cause = new SQLException("ORA-00942: table or view does not exist\n");

    Failure failure = of(new IllegalStateException("no stock", cause));

    assertThat(failure.stack()).contains("no stock\n\tat ");
  }

  @Test
  void aDetailThatIsLongerThanAStackIsNotKeptInPart() {
    SQLException refused =
        new SQLException(
            "null value in a column\n  Detail: Failing row " + "secret ".repeat(10_000));
    Failure failure =
        Failures.of(new IllegalStateException(refused.getMessage(), refused), Instant.EPOCH);

    assertThat(failure.message()).contains("null value in a column").doesNotContain("secret");
    assertThat(failure.stack()).contains("null value in a column").doesNotContain("secret");
  }

  @Test
  void deepAndCircularCausesEnd() {
    IllegalStateException first = new IllegalStateException("first");
    IllegalStateException second = new IllegalStateException("second", first);
    first.initCause(second);
    first.setStackTrace(new StackTraceElement[0]);
    second.setStackTrace(new StackTraceElement[0]);
    assertThat(of(first).stack()).contains("CIRCULAR REFERENCE");

    Throwable deep = new IllegalStateException("bottom");
    for (int i = 0; i < 100_000; i++) {
      deep = new IllegalStateException("level", deep);
    }
    assertThat(of(deep).stack()).isNotEmpty();
  }

  @Test
  void anExceptionThatCannotBeReadIsStillAFailure() {
    Failure failure = of(new Hostile());

    assertThat(failure.type()).isEqualTo(Hostile.class.getName());
    assertThat(failure.message()).contains("could not be read").contains("StackOverflowError");
    assertThat(failure.stack()).contains("could not be read");
    assertThat(of(new Mute()).message()).contains("could not be read");
  }

  /** Fails whatever it is asked, and answers null where it cannot. */
  private static final class Hostile extends RuntimeException {
    private static final long serialVersionUID = 1L;

    @Override
    public String getMessage() {
      throw new StackOverflowError();
    }

    @Override
    public void printStackTrace(PrintWriter writer) {
      throw new IllegalStateException("no");
    }

    @Override
    @SuppressWarnings("NullAway") // what careless code does
    public StackTraceElement[] getStackTrace() {
      return null;
    }
  }

  private static final class Mute extends RuntimeException {
    private static final long serialVersionUID = 1L;

    @Override
    public @Nullable String getMessage() {
      throw new IllegalArgumentException("nothing to say");
    }
  }

  @Test
  void theSamePlaceHasTheSameFingerprintWhateverTheText() {
    Failure first = of(thrown(new IllegalStateException("a"), "shop.Stock", "reserve"));
    Failure second = of(thrown(new IllegalStateException("b"), "shop.Stock", "reserve"));
    Failure elsewhere = of(thrown(new IllegalStateException("a"), "shop.Stock", "release"));
    Failure otherType = of(thrown(new IllegalArgumentException("a"), "shop.Stock", "reserve"));

    assertThat(second.fingerprint()).isEqualTo(first.fingerprint()).matches("[0-9a-f]{16}");
    assertThat(elsewhere.fingerprint()).isNotEqualTo(first.fingerprint());
    assertThat(otherType.fingerprint()).isNotEqualTo(first.fingerprint());
  }

  @Test
  void aFingerprintLooksAtTheFirstFrameOfTheApplicationWithoutItsNumbers() {
    Exception one = thrown(new IllegalStateException(), "shop.Stock$$Lambda$17", "lambda$take$3");
    Exception other = thrown(new IllegalStateException(), "shop.Stock$$Lambda$9", "lambda$take$4");
    StackTraceElement[] frames = other.getStackTrace();
    frames[0] = frame("java.util.Objects", "requireNonNull"); // it came by another way
    other.setStackTrace(frames);

    assertThat(of(other).fingerprint()).isEqualTo(of(one).fingerprint());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "dev.pigeonhole.Message",
        "dev.pigeonhole.admin.Count",
        "dev.pigeonhole.internal.dispatch.Runner",
        "dev.pigeonhole.jackson.JacksonCodec",
        "dev.pigeonhole.jdbc.internal.UnitConnection",
        "dev.pigeonhole.store.StoreException"
      })
  void aFingerprintPassesOverTheLibraryItself(String ours) {
    Exception direct = thrown(new IllegalStateException(), "shop.Stock", "reserve");
    Exception throughUs = thrown(new IllegalStateException(), "shop.Stock", "reserve");
    StackTraceElement[] frames = throughUs.getStackTrace();
    frames[0] = frame(ours, "check");
    throughUs.setStackTrace(frames);

    assertThat(of(throughUs).fingerprint()).isEqualTo(of(direct).fingerprint());
  }

  @Test
  void aFingerprintStopsAtALibraryThatTheApplicationCalls() {
    Exception direct = thrown(new IllegalStateException(), "shop.Stock", "reserve");
    Exception driver = thrown(new IllegalStateException(), "shop.Stock", "reserve");
    StackTraceElement[] frames = driver.getStackTrace();
    frames[0] = frame("org.postgresql.jdbc.PgStatement", "execute");
    driver.setStackTrace(frames);

    assertThat(of(driver).fingerprint()).isNotEqualTo(of(direct).fingerprint());
  }

  /** As if it had come out of this method, called by the engine. */
  private static Exception thrown(Exception exception, String className, String method) {
    exception.setStackTrace(
        new StackTraceElement[] {
          frame("java.util.Optional", "orElseThrow"),
          frame(className, method),
          frame("dev.pigeonhole.internal.dispatch.Runner", "run")
        });
    return exception;
  }

  private static StackTraceElement frame(String className, String method) {
    return new StackTraceElement(className, method, "Some.java", 7);
  }

  @Test
  void aReasonWithoutAnExceptionIsCleanedToo() {
    Failure failure = Failures.of(ErrorCode.HANDLER_KEY_UNKNOWN, "key '\0'", NOW);

    assertThat(failure.message()).isEqualTo("key '\\u0000'");
    assertThat(failure.fingerprint()).isEqualTo("PH-KEY-06");
    assertThat(failure.stack()).isEmpty();
  }
}
