package dev.pigeonhole.internal.dispatch;

import dev.pigeonhole.ErrorCode;
import dev.pigeonhole.Failure;
import dev.pigeonhole.InboxException;
import dev.pigeonhole.internal.registry.Hashes;
import java.io.PrintWriter;
import java.io.Writer;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Arrays;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Turns an exception into a {@link Failure} that any database can store: bounded, without NUL, half
 * characters or control characters. Saving a failure must never fail, or the delivery would be
 * stuck.
 */
public final class Failures {
  private static final int MESSAGE = 2_000;
  private static final int STACK = 8_000;
  private static final int LINE = 500;

  /** Java's own classes, and this library's: all packages that an application runs on. */
  private static final Pattern NOT_OWN =
      Pattern.compile(
          "(java|javax|jdk|sun|com\\.sun)\\..*"
              + "|dev\\.pigeonhole\\.([A-Z]|"
              + "(admin|cloudevents|codec|event|http|internal|jackson|jdbc|lease|outbox|redis|store"
              + "|transport|webhook)\\.).*");

  private Failures() {}

  public static Failure of(Throwable thrown, Instant at) {
    ErrorCode code =
        thrown instanceof InboxException inbox ? inbox.code() : ErrorCode.HANDLER_FAILED;
    return of(code, thrown, at);
  }

  public static Failure of(ErrorCode code, Throwable thrown, Instant at) {
    return new Failure(
        code,
        clean(thrown.getClass().getName(), 200),
        clean(message(thrown), MESSAGE),
        clean(stack(thrown), STACK),
        fingerprint(thrown),
        at.truncatedTo(ChronoUnit.MICROS));
  }

  /** A failure that no exception stands behind. */
  public static Failure of(ErrorCode code, String message, Instant at) {
    return new Failure(
        code,
        code.text(),
        clean(message, MESSAGE),
        "",
        code.text(),
        at.truncatedTo(ChronoUnit.MICROS));
  }

  /** Type and text on two lines, for those who are told no more. */
  public static String brief(Throwable thrown) {
    return clean(thrown.getClass().getName(), 200) + "\n" + clean(message(thrown), MESSAGE);
  }

  /** Code, type and text on one line of a log. */
  public static String line(Failure failure) {
    String code = failure.code().text();
    String named = failure.type().equals(code) ? code : code + " " + failure.type();
    String told = failure.message();
    String bare = told.startsWith(code + ": ") ? told.substring(code.length() + 2) : told;
    String text = clean(bare.replaceAll("\\s+", " ").strip(), LINE);
    return text.isEmpty() ? named : named + ": " + text;
  }

  /** Escapes what a database may refuse and cuts the rest; keeps line breaks and tabs. */
  static String clean(String text, int limit) {
    StringBuilder out = new StringBuilder(Math.min(text.length(), limit));
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      boolean pair =
          Character.isHighSurrogate(c)
              && i + 1 < text.length()
              && Character.isLowSurrogate(text.charAt(i + 1));
      String next;
      if (pair) {
        next = text.substring(i, i + 2);
        i++;
      } else if (Character.isSurrogate(c)
          || (Character.isISOControl(c) && c != '\n' && c != '\t')) {
        next = c == '\r' ? "" : String.format("\\u%04X", (int) c);
      } else {
        next = String.valueOf(c);
      }
      if (out.length() + next.length() > limit) {
        break;
      }
      out.append(next);
    }
    return out.toString();
  }

  private static String message(Throwable thrown) {
    try {
      @Nullable String message = thrown.getMessage();
      return message == null ? "" : ServerDetail.removed(message, thrown);
    } catch (Throwable e) {
      return "(its message could not be read: " + e.getClass().getName() + ")";
    }
  }

  private static String stack(Throwable thrown) {
    BoundedText text = new BoundedText(2 * STACK);
    try (PrintWriter writer = new PrintWriter(text)) {
      thrown.printStackTrace(writer);
      return ServerDetail.removed(text.toString(), thrown);
    } catch (Throwable e) {
      return text + "(its stack could not be read: " + e.getClass().getName() + ")";
    }
  }

  private static String fingerprint(Throwable thrown) {
    String place =
        Arrays.stream(frames(thrown))
            .filter(Failures::own)
            .findFirst()
            .map(frame -> frame.getClassName() + "#" + frame.getMethodName())
            .orElse("");
    // Numbers of lambdas and generated classes differ from one build or run to the next.
    String stable = (thrown.getClass().getName() + "\n" + place).replaceAll("[0-9]+", "");
    return String.format("%016x", Hashes.key(stable));
  }

  /** Whether the frame is code of the application, or of a library that it has chosen. */
  private static boolean own(StackTraceElement frame) {
    return !NOT_OWN.matcher(frame.getClassName()).matches();
  }

  private static StackTraceElement[] frames(Throwable thrown) {
    try {
      StackTraceElement[] frames = thrown.getStackTrace();
      return frames == null ? new StackTraceElement[0] : frames;
    } catch (Throwable e) {
      return new StackTraceElement[0];
    }
  }

  /** Forgets what goes over the limit, so that a huge message costs no more than its own size. */
  private static final class BoundedText extends Writer {
    private final StringBuilder text = new StringBuilder();
    private final int limit;

    BoundedText(int limit) {
      this.limit = limit;
    }

    @Override
    public void write(char[] buffer, int offset, int length) {
      int room = Math.min(length, limit - text.length());
      if (room > 0) {
        text.append(buffer, offset, room);
      }
    }

    @Override
    public void flush() {}

    @Override
    public void close() {}

    @Override
    public String toString() {
      return text.toString();
    }
  }
}
